import { refusals, anthropic, asIs, coded, error, google } from "./answer.ts";

const refused = refusals("invalid_request");

/** What means `invalid_request`, by its status. */
export const INVALID_REQUEST = [
  ...refused(400, {
    "openai-tokens-parameter": error(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      "unsupported_parameter",
    ),
    "anthropic-max-tokens": {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens",
      },
      request_id: "req_1",
    },
    "google-location": google(400, "FAILED_PRECONDITION", "User location is not supported for the API use."),
    "google-output-tokens": google(
      400,
      "INVALID_ARGUMENT",
      "Invalid value at 'generation_config.max_output_tokens' (TYPE_INT32), \"many\"",
    ),
    "groq-tool-call": error("Failed to call a function. Please adjust your prompt.", "tool_use_failed"),
    "ollama-no-tools": "registry.ollama.ai/library/foo:latest does not support tools",
    "nginx-400": asIs(
      "<html>\r\n<head><title>400 Bad Request</title></head>\r\n<body>\r\n<center><h1>400 Bad Request</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
    ),
    "empty-400": asIs(""),
    "plain-400": asIs("Bad Request"),
    "openai-image": error(
      "The image data you provided does not represent a valid image. Please check your input and try again with one of the supported formats.",
      "invalid_image_format",
    ),
    "openai-schema": error(
      "Invalid schema for response_format 'answer': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      "invalid_json_schema",
    ),
    "openai-value": error(
      "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
      "unsupported_value",
    ),
    "azure-version": coded("BadRequest", "API version not supported"),
    "bedrock-tools": {
      message:
        "The model returned the following errors: messages.1.content.0: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.",
    },
    "anthropic-image": anthropic(
      "invalid_request_error",
      "messages.0.content.1.image.source.base64.data: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
    ),
    "vllm-tool-choice": error(
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      400,
      "BadRequestError",
    ),
    "openai-tools": error(
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got one of 140.",
      "array_above_max_length",
    ),
    "anthropic-empty": anthropic("invalid_request_error", "messages: text content blocks must be non-empty"),
    "google-schema": google(
      400,
      "INVALID_ARGUMENT",
      "Invalid JSON payload received. Unknown name \"strict\" at 'tools[0].function': Cannot find field.",
    ),
    "google-argument": google(400, "INVALID_ARGUMENT", "Request contains an invalid argument."),
    "google-empty": google(400, "INVALID_ARGUMENT", "Unable to submit request because it has an empty text parameter."),
    "bedrock-output": {
      message:
        "The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.",
    },
    "openai-parameter": error("Unknown parameter: 'reasoning_effort'.", "unknown_parameter"),
    "openai-tool-id": "No tool output found for function call call_abc.",
    "anthropic-roles": anthropic(
      "invalid_request_error",
      'messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row',
    ),
    "openai-tool-schema": error(
      "Invalid schema for function 'shell': In context=('properties', 'command'), array schema missing items.",
      "invalid_function_parameters",
    ),
    "openai-previous-response": error("Previous response with id 'resp_abc' not found.", "previous_response_not_found"),
    "anthropic-image-2": anthropic(
      "invalid_request_error",
      "messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    ),
    alternate: 'roles must alternate between "user" and "assistant"',
    "function-name": error(
      "Invalid 'tools[3].function.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.",
      "invalid_value",
    ),
    "trap-tool-name": "tools[2].input_schema of 'check_quota': property 'limit' must be of type integer",
    "trap-parameter": "Unrecognized request argument supplied: rate_limit",
    "trap-max-tokens": "max_tokens must be at most 8192 for this model.",
    "trap-filter-name": error("Unknown value 'strictest' for field content_filter_level.", "invalid_value"),
    "trap-vision": "This model does not support image input.",
    "trap-effort": error("The model does not support reasoning effort 'minimal'.", "unsupported_value"),
    required: "'messages' is a required property",
    json: "Could not parse the JSON body of your request.",
    images: "Too many images: 21, at most 20 per request.",
    "tool-calls":
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.",
    "trap-balance": "The result of tool 'get_balance' must not be an empty string.",
    "trap-subscription": "'expired' is not a valid value for field 'subscription_state'.",
    "trap-safety": "safety_settings[0].threshold: value BLOCK_SOME is not allowed.",
    "trap-answer-length": error(
      "max_completion_tokens is too large: 200000. This model supports at most 128000 completion tokens.",
      "invalid_value",
    ),
    "trap-key-name": "Duplicate key 'token' in metadata.",
    type: error("Invalid type for 'tools': expected an array, got a string.", "invalid_type"),
    one: "n must be 1",
    summary: "reasoning.summary is not permitted with this endpoint",
    asp: {
      title: "One or more validation errors occurred.",
      status: 400,
      errors: { max_tokens: ["The field max_tokens must be between 1 and 4096."] },
    },
    "needs-a-tool": "tool_choice 'required' needs at least one tool",
    order: "System messages must come first",
    "trap-card": "function name 'charge_credit_card' is used twice",
    "trap-logprobs": "The parameter top_logprobs is not available for reasoning models.",
    "trap-streaming": "Streaming is off for this deployment; send stream=false.",
    "trap-system": "This model only accepts one system message.",
    "trap-caching": "Prompt caching needs a prompt longer than 1024 tokens.",
    roles: "The role 'developer' is unknown.",
    "json-depth": "The body is nested too deeply.",
    "tool-twice": "Two tools have the same name.",
    temperature: "temperature: 3 is above the maximum of 2.",
    "image-link": "The image at this link could not be fetched.",
    "tool-result": "A tool result has no matching call.",
    encoding: "The body is not valid UTF-8.",
    cache: "A cache marker may stand in at most four blocks.",
  }),
  ...refused(409, {
    "nginx-409": asIs(
      "<html>\r\n<head><title>409 Conflict</title></head>\r\n<body>\r\n<center><h1>409 Conflict</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
    ),
  }),
  ...refused(415, { "media-type": { title: "Unsupported Media Type", status: 415 } }),
  ...refused(422, {
    "mistral-fields": {
      object: "error",
      message: { detail: [{ type: "extra_forbidden", loc: ["body", "seed"], msg: "Extra inputs are not permitted" }] },
      type: "invalid_request_error",
      param: null,
      code: null,
    },
    "deepseek-role": asIs(
      "Failed to deserialize the JSON body into the target type: messages[2]: unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool` at line 1 column 900",
    ),
    literal: { detail: [{ type: "literal_error", loc: ["body", "tool_choice"], msg: "Input should be 'auto'" }] },
    rails: { errors: { messages: ["can't be blank"] } },
  }),
  ...refused(431, { headers: asIs("") }),
];
