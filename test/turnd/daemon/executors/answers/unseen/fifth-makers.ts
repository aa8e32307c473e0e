import { error, toAnswers, type Row } from "../answer.ts";
import { anthropic, google, openRouter } from "./shapes.ts";

const OPENAI: readonly Row[] = [
  ["fifth-openai-organization", 401, error("No such organization: org-abc.", "invalid_organization"), "auth_failed"],
  [
    "fifth-openai-too-many-tokens-a-minute",
    429,
    error(
      "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 41293. The input or output tokens must be reduced in order to run successfully.",
      "rate_limit_exceeded",
      "tokens",
    ),
    "rate_limited",
  ],
  [
    "fifth-openai-deactivated",
    401,
    error(
      "Your OpenAI account has been deactivated, please check your email for more information. If you feel this is an error, contact us through our help center.",
      "account_deactivated",
    ),
    "auth_failed",
  ],
  [
    "fifth-openai-tool-schema",
    400,
    error(
      "Invalid schema for function 'shell': In context=('properties', 'command'), array schema missing items.",
      "invalid_function_parameters",
    ),
    "invalid_request",
  ],
  [
    "fifth-openai-retired",
    404,
    error("The model `gpt-4-32k` has been deprecated, learn more here: …/docs/deprecations", "model_not_found"),
    "model_not_found",
  ],
  [
    "fifth-openai-previous-response",
    400,
    error("Previous response with id 'resp_abc' not found.", "previous_response_not_found"),
    "invalid_request",
  ],
  [
    "fifth-openai-overloaded",
    503,
    error(
      "That model is currently overloaded with other requests. You can retry your request, or contact us if the error persists.",
      null,
      "server_error",
    ),
    "provider_error",
  ],
];

const ANTHROPIC: readonly Row[] = [
  [
    "fifth-anthropic-rate",
    429,
    anthropic(
      "rate_limit_error",
      "This request would exceed the rate limit for your organization of 30,000 input tokens per minute. For details, refer to the documentation. You can see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later. You may also contact sales.",
    ),
    "rate_limited",
  ],
  [
    "fifth-anthropic-disabled",
    400,
    anthropic("invalid_request_error", "This organization has been disabled."),
    "auth_failed",
  ],
  [
    "fifth-anthropic-image",
    400,
    anthropic(
      "invalid_request_error",
      "messages.3.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels",
    ),
    "invalid_request",
  ],
  [
    "fifth-anthropic-timeout",
    504,
    anthropic("timeout_error", "Request timed out"),
    "provider_error",
    "provider_error",
    ["provider_timeout"],
  ],
];

const GOOGLE: readonly Row[] = [
  [
    "fifth-google-deadline",
    504,
    google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
    "provider_error",
    "provider_error",
    ["provider_timeout"],
  ],
  [
    "fifth-vertex-permission",
    403,
    google(
      403,
      "PERMISSION_DENIED",
      "Permission 'aiplatform.endpoints.predict' denied on resource '//aiplatform.googleapis.com/projects/p' (or it may not exist).",
    ),
    "auth_failed",
  ],
  [
    "fifth-vertex-model",
    404,
    google(
      404,
      "NOT_FOUND",
      "Publisher Model `projects/p/locations/us-east5/publishers/anthropic/models/claude-x` was not found or your project does not have access to it. Please ensure you are using a valid model version.",
    ),
    "model_not_found",
  ],
];

const HOSTS: readonly Row[] = [
  [
    "fifth-apim-subscription",
    401,
    {
      statusCode: 401,
      message:
        "Access denied due to missing subscription key. Make sure to include subscription key when making requests to an API.",
    },
    "auth_failed",
  ],
  [
    "fifth-bedrock-timeout",
    408,
    { message: "Model has timed out in processing the request. Try your request again." },
    "provider_timeout",
  ],
  [
    "fifth-bedrock-end-of-life",
    404,
    {
      message:
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
    },
    "model_not_found",
  ],
];

const ROUTERS: readonly Row[] = [
  [
    "fifth-openrouter-upstream",
    502,
    openRouter(502, "Provider returned error", "upstream connect error or disconnect/reset before headers"),
    "provider_error",
  ],
];

/** What makers and their hosts answer, from memory of their documents and of reports: labelled on 2026-11-25 before anything was run. */
export const UNSEEN_FIFTH_MAKERS = toAnswers([...OPENAI, ...ANTHROPIC, ...GOOGLE, ...HOSTS, ...ROUTERS]);
