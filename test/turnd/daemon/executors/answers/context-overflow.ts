import { refusals, anthropic, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("context_overflow");

/** What means `context_overflow`, by its status. */
export const CONTEXT_OVERFLOW = [
  ...refused(400, {
    "openai-context": error(
      "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      "context_length_exceeded",
    ),
    "openai-context-words":
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "anthropic-prompt-too-long": {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
      request_id: "req_1",
    },
    "anthropic-context-limit": {
      type: "error",
      error: {
        type: "invalid_request_error",
        message:
          "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again",
      },
      request_id: "req_1",
    },
    "google-context": google(
      400,
      "INVALID_ARGUMENT",
      "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "bedrock-context": { message: "Input is too long for requested model." },
    "mistral-context": {
      object: "error",
      message:
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
      type: "invalid_request_prompt",
      code: "3051",
    },
    "xai-context": {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 150000 tokens.",
    },
    "moonshot-context": "Invalid request: Your request exceeded model token limit: 131072",
    "zhipu-context": coded("1261", "Prompt exceeds max length"),
    "dashscope-context": error(
      "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
      "invalid_parameter_error",
    ),
    "openrouter-context": {
      error: {
        message:
          "This endpoint's maximum context length is 131072 tokens. However, you requested about 150000 tokens. Please reduce the length of either one.",
        code: 400,
      },
      user_id: "user_1",
    },
    "litellm-context": error("litellm.ContextWindowExceededError: litellm.BadRequestError: too many", "400"),
    "vllm-context": {
      object: "error",
      message: "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
      type: "BadRequestError",
      code: 400,
    },
    "llamacpp-context": {
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
      },
    },
    "lmstudio-context": {
      error:
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
    },
    "openrouter-upstream-context": openRouter(
      400,
      "Provider returned error",
      '{"error":{"message":"This model\'s maximum context length is 32768 tokens. However, you requested 40000 tokens.","type":"BadRequestError","code":400}}',
    ),
    "groq-length": error("Please reduce the length of the messages or completion.", "context_length_exceeded"),
    "cohere-tokens": {
      message:
        "too many tokens: total number of tokens in the prompt cannot exceed 128000 - received 140000. Try using a shorter prompt.",
    },
    "sglang-length": {
      object: "error",
      message: "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
      type: "BadRequestError",
      code: 400,
    },
    "anthropic-tokens": anthropic("invalid_request_error", "prompt is too long: 1000300 tokens > 1000000 maximum"),
    "cerebras-length": {
      message: "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
    "openai-length": error(
      "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300111 tokens.",
      "context_length_exceeded",
    ),
    "vllm-length": {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens. Please reduce the length of the input messages.",
        type: "BadRequestError",
        param: "input_tokens",
        code: 400,
      },
    },
    "cohere-size": {
      message:
        "too many tokens: size limit exceeded by 10000 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.",
    },
    "yandex-length": {
      error: {
        grpcCode: 3,
        httpCode: 400,
        message: "Error in session internal_id=1: number of input tokens must be no more than 8192, got 12000",
        httpStatus: "Bad Request",
        details: [],
      },
    },
    "conversation-long": "Conversation too long: 210004 tokens, the window is 200000.",
    positions: {
      object: "error",
      message: "Sequence length 9001 is larger than the model's maximum of 8192 positions",
      type: "BadRequestError",
      code: 400,
    },
    "combined-size": "System prompt and messages together are over the 32768 token limit.",
    "japanese-length": error("入力が長すぎます。", "context_length_exceeded"),
    history: "Message history of 412 entries totals 260123 tokens; the ceiling is 200000.",
    "n-ctx": { error: { code: 400, message: "n_tokens=9000 > n_ctx=8192", type: "invalid_request_error" } },
    "llama-python": error("Requested tokens (9100) exceed context window of 8192", "context_length_exceeded"),
    "new-chat": "Please start a new chat, this one has become too long.",
    "input-over": { message: "Input is 1203 tokens over the limit of this model." },
    allowed: "Request has 131073 tokens but only 131072 are allowed.",
    text: "The text you sent is too long for the model.",
    available: "Prompt tokens: 20000. Available: 16384.",
    "long-thread": "This thread exceeds what the model can take in.",
    "needs-window": "You would need a window of 400k tokens for this; m has 128k.",
    trim: "Trim the conversation: 9000 tokens do not fit into 8192.",
    "budget-of-tokens": "Your prompt uses 210000 of 200000 tokens.",
  }),
  ...refused(
    413,
    {
      "anthropic-too-large": {
        type: "error",
        error: { type: "request_too_large", message: "Request exceeds the maximum size" },
        request_id: "req_1",
      },
      "groq-too-large": error(
        "Request too large for model `llama` on tokens per minute (TPM): Limit 6000, Requested 12000, please reduce your message size and try again.",
        "rate_limit_exceeded",
        "tokens",
      ),
      "nginx-413": asIs(
        "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
      ),
    },
    { cliB: "invalid_request" },
  ),
  ...refused(
    413,
    { "github-size": coded("tokens_limit_reached", "Request body too large for gpt-4o model. Max size: 8000 tokens.") },
    { also: ["invalid_request"] },
  ),
  ...refused(
    413,
    { payload: { error: "payload exceeds 4 MB" } },
    { cliB: "invalid_request", also: ["invalid_request", "context_overflow"] },
  ),
  ...refused(422, {
    "together-tokens":
      "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 8000 `inputs` tokens and 512 `max_new_tokens`",
    "tgi-inputs": {
      error: "Input validation error: `inputs` must have less than 4096 tokens. Given: 5000",
      error_type: "validation",
    },
    "ai21-length": { detail: "Prompt too long; at most 256000 tokens" },
    "sum-of-tokens": {
      error: "prompt_tokens (9000) + max_new_tokens (1024) must be <= 8192",
      error_type: "validation",
    },
    total: { message: "total length of messages exceeds 32k" },
    "max-input": { detail: "max input size is 8192 tokens, got 9000" },
  }),
  ...refused(
    500,
    {
      indices: {
        error:
          "Token indices sequence length is longer than the specified maximum sequence length for this model (9000 > 8192)",
      },
    },
    { also: ["provider_error"] },
  ),
];
