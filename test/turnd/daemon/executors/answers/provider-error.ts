import { refusals, anthropic, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("provider_error");

/** What means `provider_error`, by its status. */
export const PROVIDER_ERROR = [
  ...refused(500, {
    "openai-500": error("The server had an error processing your request.", null, "server_error"),
    "anthropic-api-error": {
      type: "error",
      error: { type: "api_error", message: "Internal server error" },
      request_id: "req_1",
    },
    "ollama-memory": error(
      "model requires more system memory (5.6 GiB) than is available (3.1 GiB)",
      null,
      "api_error",
    ),
    "google-internal": google(
      500,
      "INTERNAL",
      "An internal error has occurred. Please retry or report in the troubleshooting guide.",
    ),
    "ollama-runner": error("llama runner process has terminated: exit status 2", null, "api_error"),
    "azure-internal": coded("InternalServerError", "Backend returned unexpected response."),
    "litellm-upstream": error(
      "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.",
      "500",
    ),
    "llamacpp-tool": error("Failed to parse tool call arguments as JSON", 500, "server_error"),
    "openai-500-2": error(
      "The server had an error while processing your request. Sorry about that!",
      "server_error",
      "server_error",
    ),
    "vllm-engine": error(
      "EngineCore encountered an issue. See stack trace (above) for the root cause.",
      500,
      "InternalServerError",
    ),
    cuda: { detail: "CUDA out of memory. Tried to allocate 2.00 GiB" },
    traceback: asIs("Traceback (most recent call last):\n  File \"app.py\", line 3\nKeyError: 'model'\n"),
    "trap-quota-service": error("could not read from the quota service", "internal_error"),
    nothing: {},
    "trap-key": error("Failed to read the answer of the model: unexpected field api_key", null, "internal"),
    gpu: { error: "GPU fell off the bus" },
  }),
  ...refused(
    500,
    {
      "litellm-upstream-2": error(
        "litellm.APIConnectionError: OllamaException - [Errno 111] Connection refused",
        "500",
        "None",
      ),
    },
    { also: ["network_error"] },
  ),
  ...refused(502, {
    "openrouter-upstream": { error: { message: "Provider returned error", code: 502 }, user_id: "user_1" },
    "nginx-502": asIs(
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
    ),
    "alb-502": asIs(
      "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n",
    ),
    "openrouter-upstream-2": openRouter(
      502,
      "Provider returned error",
      "upstream connect error or disconnect/reset before headers",
    ),
    "empty-502": asIs(""),
    "trap-upstream-401": { message: "model server not ready: GET /health returned 401" },
    "model-json": { message: "Bad gateway: model returned invalid JSON" },
  }),
  ...refused(503, {
    "openai-overloaded": error("The engine is currently overloaded, please try again later", null, "server_error"),
    "google-overloaded": google(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "deepseek-busy": "Service is too busy. We advise users to temporarily switch.",
    "llamacpp-loading": { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
    "envoy-503": asIs("upstream connect error or disconnect/reset before headers. reset reason: connection failure"),
    "empty-503": asIs(""),
    "bedrock-503": { message: "Bedrock is unable to process your request." },
    "huggingface-loading": { error: "Model foo is currently loading", estimated_time: 20 },
    "openrouter-none": openRouter(503, "No instances available"),
    "google-unavailable": google(503, "UNAVAILABLE", "The service is currently unavailable."),
    "azure-503": coded("ServiceUnavailable", "The service is temporarily unable to process your request."),
    "google-busy": google(
      503,
      "UNAVAILABLE",
      "This model is currently experiencing high demand. Please try again later.",
    ),
    "openai-overloaded-2": error(
      "That model is currently overloaded with other requests. You can retry your request, or contact us if the error persists.",
      null,
      "server_error",
    ),
    "ring-balancer": { message: "failure to get a peer from the ring-balancer" },
    "coded-busy": coded("EngineOverloaded", "模型繁忙，请稍后再试"),
    cluster: asIs('no endpoints available for service "inference"'),
    maintenance: "Scheduled maintenance until 06:00 UTC",
  }),
  ...refused(503, { "go-deadline": asIs("context deadline exceeded\n") }, { also: ["provider_timeout"] }),
  ...refused(503, { shed: { message: "Load shed: reduce your request rate" } }, { also: ["rate_limited"] }),
  ...refused(504, {
    "nginx-504": asIs(
      "<html>\r\n<head><title>504 Gateway Time-out</title></head>\r\n<body>\r\n<center><h1>504 Gateway Time-out</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
    ),
  }),
  ...refused(
    504,
    {
      "anthropic-timeout": anthropic("timeout_error", "Request timed out"),
      "google-deadline": google(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete."),
      "upstream-slow": asIs("upstream request timeout"),
      endpoint: { message: "Endpoint request timed out" },
    },
    { also: ["provider_timeout"] },
  ),
  ...refused(520, { "cloudflare-520": asIs("error code: 520") }),
  ...refused(521, {
    "cloudflare-521": asIs(
      "<html><head><title>example.test | 521: Web server is down</title></head><body>Web server is down</body></html>",
    ),
  }),
  ...refused(522, {
    "cloudflare-522": asIs(
      "<html>\r\n<head><title>522: Connection timed out</title></head>\r\n<body>\r\n<center><h1>Connection timed out</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n",
    ),
  }),
  ...refused(524, {
    "cloudflare-524": asIs(
      "<html>\r\n<head><title>524: A timeout occurred</title></head>\r\n<body>\r\n<center><h1>A timeout occurred</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n",
    ),
  }),
  ...refused(529, {
    "anthropic-overloaded": {
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
      request_id: "req_1",
    },
    "anthropic-later": anthropic("overloaded_error", "Try later"),
  }),
  ...refused(530, { "cloudflare-1033": asIs("error code: 1033") }),
  ...refused(
    530,
    { origin: asIs("<html><title>Origin DNS error | models.example | Cloudflare</title></html>") },
    { also: ["network_error"] },
  ),
  ...refused(599, { "599": asIs("") }),
];
