import { refusals, asIs, coded, error, google, openRouter } from "./answer.ts";

const refused = refusals("model_not_found");

/** What means `model_not_found`, by its status. */
export const MODEL_NOT_FOUND = [
  ...refused(400, {
    "openai-model-400": error("The requested model 'gpt-9' does not exist.", "model_not_found"),
    "bedrock-no-model": { message: "The provided model identifier is invalid." },
    "deepseek-no-model": error("Model Not Exist", "invalid_request_error"),
    "mistral-no-model": {
      object: "error",
      message: "Invalid model: foo",
      type: "invalid_model",
      param: null,
      code: "1500",
    },
    "zhipu-no-model": coded("1211", "Unknown Model, please check the model code."),
    "openrouter-no-model": { error: { message: "foo/bar is not a valid model ID", code: 400 }, user_id: "user_1" },
    "litellm-no-model": error(
      "/chat/completions: Invalid model name passed in model=foo. Call `/v1/models` to view available models for your key.",
      "400",
    ),
    "groq-decommissioned": error(
      "The model `llama-70b` has been decommissioned and is no longer supported. Please refer to the page of deprecations for a recommendation on which model to use instead.",
      "model_decommissioned",
    ),
    "huggingface-model": error(
      "The requested model 'foo' is not supported by any provider you have enabled.",
      "model_not_supported",
    ),
    "siliconflow-model": { code: 20012, message: "Model does not exist. Please check it carefully.", data: null },
    "perplexity-model": error(
      "Invalid model 'foo'. Permitted models can be found in the documentation.",
      400,
      "invalid_model",
    ),
    "upstage-model": error("The model `foo` is not supported.", "unsupported_model"),
    "lmstudio-none": { error: "No models loaded. Please load a model in the developer page." },
    "qianfan-model": coded("invalid_model", "the model is invalid: foo"),
    "openrouter-model": openRouter(400, "maker/none is not a valid model ID"),
    "zhipu-model": coded("1211", "模型不存在，请检查模型代码。"),
    "workers-model": {
      errors: [{ message: "AiError: No such model @cf/x or task", code: 5007 }],
      success: false,
      result: {},
      messages: [],
    },
    engine: "unknown engine 'm'",
    region: "Model 'm' isn't available in region eu-west-1.",
    sunset: error("m was sunset. Migrate to n.", "model_sunset"),
    "provider-for-model": "Cannot find a provider for model m.",
    "not-offered": "The snapshot m-2024-05-13 isn't offered any more.",
    "not-served": "m is not one of the models that this endpoint serves: a, b.",
    misspelled: "Model name m is misspelled or has been withdrawn.",
    archive: "The requested model was moved to the archive.",
    "model-fine-tune": "The fine-tuned model ft:m was deleted.",
    "model-host": "None of our hosts serves model m.",
  }),
  ...refused(400, { tier: "Model m is unavailable for your tier." }, { also: ["quota_exceeded"] }),
  ...refused(400, { "model-typo": "Did you mean 'm-large'? There is no 'm-larg'." }, { also: ["invalid_request"] }),
  ...refused(403, { "model-preview": "The preview of this model has ended." }, { also: ["auth_failed"] }),
  ...refused(404, {
    "openai-no-model": error("The model `gpt-9` does not exist or you do not have access to it.", "model_not_found"),
    "azure-no-deployment": error("The API deployment for this resource does not exist.", "DeploymentNotFound"),
    "anthropic-no-model": {
      type: "error",
      error: { type: "not_found_error", message: "model: claude-foo" },
      request_id: "req_1",
    },
    "google-no-model": google(
      404,
      "NOT_FOUND",
      "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent.",
    ),
    "moonshot-no-model": error("Not found the model kimi-9 or Permission denied", null, "resource_not_found_error"),
    "openrouter-no-endpoints": { error: { message: "No endpoints found for foo/bar.", code: 404 }, user_id: "user_1" },
    "vllm-no-model": {
      object: "error",
      message: "The model `foo` does not exist.",
      type: "NotFoundError",
      param: null,
      code: 404,
    },
    "ollama-no-model": error('model "foo" not found, try pulling it first', null, "api_error"),
    "openai-verify": error(
      "Your organization must be verified to use the model `gpt-9`. Please go to the organization's settings and click on Verify Organization.",
      "model_not_found",
    ),
    "openrouter-tools": openRouter(
      404,
      "No endpoints found that support tool use. To learn more about provider routing, see the docs.",
    ),
    "together-model": error(
      "Unable to access model foo. Please visit the list of supported models.",
      "model_not_available",
    ),
    "fireworks-model": error("Model not found, inaccessible, and/or not deployed", "NOT_FOUND"),
    "volcengine-model": coded(
      "InvalidEndpointOrModel.NotFound",
      "The model or endpoint foo does not exist or you do not have access to it.",
    ),
    "vertex-model": google(
      404,
      "NOT_FOUND",
      "Publisher Model `publishers/google/models/gemini-9` was not found or your project does not have access to it.",
    ),
    "openrouter-policy": openRouter(
      404,
      "No endpoints found matching your data policy. Configure it in the settings of privacy.",
    ),
    "cerebras-model": {
      message: "Model foo does not exist or you do not have access to it.",
      type: "not_found_error",
      param: "model",
      code: "model_not_found",
    },
    "watsonx-model": {
      errors: [{ code: "model_not_supported", message: "Model 'foo' is not supported for this environment." }],
      status_code: 404,
    },
    "deepinfra-model": { detail: { error: "Model is not available" } },
    "novita-model": { code: 404, reason: "MODEL_NOT_FOUND", message: "model not found", metadata: {} },
    "xai-model": {
      code: "Some requested entity was not found",
      error: "The model grok-9 does not exist or your team 1 does not have access to it.",
    },
    "openai-model": error(
      "The model `gpt-5.9-codex` does not exist or you do not have access to it.",
      "model_not_found",
    ),
    "google-model": google(
      404,
      "NOT_FOUND",
      "models/gemini-x is not found for API version v1main, or is not supported for generateContent.",
    ),
    "ollama-model": error("model 'none:latest' not found", null, "not_found_error"),
    "openai-retired": error(
      "The model `gpt-4-32k` has been deprecated, learn more here: …/docs/deprecations",
      "model_not_found",
    ),
    "vertex-model-2": google(
      404,
      "NOT_FOUND",
      "Publisher Model `projects/p/locations/us-east5/publishers/anthropic/models/claude-x` was not found or your project does not have access to it. Please ensure you are using a valid model version.",
    ),
    "bedrock-end-of-life": {
      message:
        "This model version has reached the end of its life. Please refer to the AWS documentation for more details.",
    },
    "cohere-removed": {
      message: "model 'command' was removed on September 15, 2025. See the docs for a list of available models",
    },
    deployment: { detail: "no such deployment: m" },
    adapter: error("The LoRA adapter `m` does not exist.", 404, "NotFoundError"),
    "portuguese-model": error("O modelo `m` não existe.", "model_not_found"),
    route: "No route for model m.",
    called: "There is no model called m.",
    spanish: error("El modelo solicitado no existe.", "model_not_found"),
    "deployment-id": "Unknown deployment id: m",
    "model-list": "Model m is not in the catalogue.",
  }),
  ...refused(
    404,
    {
      "openai-wrong-path": "Invalid URL (POST /v1/chat/completions)",
      "azure-wrong-path": error("Resource not found", "404"),
      "fastapi-no-api": { detail: "Not Found" },
      "nginx-404": asIs(
        "<html>\r\n<head><title>404 Not Found</title></head>\r\n<body>\r\n<center><h1>404 Not Found</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n",
      ),
    },
    { cliB: "executor_unavailable" },
  ),
  ...refused(
    404,
    { "wrong-path": asIs("<!DOCTYPE html><pre>Cannot POST /api/responses</pre>") },
    { cliB: "executor_unavailable", also: ["executor_unavailable"] },
  ),
  ...refused(410, { gone: "The model m was retired on 2025-06-01.", "model-gone": { message: "m is gone." } }),
  ...refused(
    422,
    {
      enumeration: {
        detail: [
          {
            loc: ["body", "model"],
            msg: "value is not a valid enumeration member; permitted: 'a', 'b'",
            type: "type_error.enum",
          },
        ],
      },
      "field-of-list": { message: "The 'model' field must be one of: a, b." },
    },
    { also: ["invalid_request"] },
  ),
  ...refused(422, { unresolved: { detail: "Model 'm' could not be resolved" } }),
];
