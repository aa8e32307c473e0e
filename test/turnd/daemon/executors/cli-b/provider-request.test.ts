import { describe, expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { ProviderRequest } from "../../../../../src/turnd/daemon/executors/contract/provider-request.ts";

const KEY = "sk-sentinel-0123456789";
const VARIABLES = { CLI_B_API_KEY: KEY, CLI_B_MODEL: "m", CLI_B_BASE_URL: "https://models.test/v1/" };
const PROVIDER = 'model_provider = "p"\n[model_providers.p]\nname = "p"\nbase_url = "https://models.test/v1"\n';

function findProbe(env: Record<string, string>): ProviderRequest | undefined {
  const result = cliB.configure({ env, cliName: "cli-b" });
  if (!result.ok) throw new Error(result.errors.join("\n"));
  return cliB.providerRequest?.(result.configuration);
}

function probe(env: Record<string, string> = VARIABLES): ProviderRequest {
  const found = findProbe(env);
  if (found === undefined) throw new Error("there is no question to ask");
  return found;
}

describe("the question to a provider", () => {
  test("names no model and holds no input, and carries the key as a header alone", () => {
    const { url, headers, body } = probe();
    expect(url).toBe("https://models.test/v1/responses");
    expect(headers).toEqual({ authorization: `Bearer ${KEY}`, "content-type": "application/json" });
    expect(JSON.parse(body)).toEqual({});
  });

  test("has the headers and the query of a whole configuration", () => {
    const toml = `${PROVIDER}env_key = "MY_KEY"\nhttp_headers = { "x-team" = "a" }\nenv_http_headers = { "x-more" = "MORE", "x-not" = "UNSET" }\nquery_params = { "api-version" = "1" }\n`;
    const { url, headers } = probe({ CLI_B_CONFIG_TOML: toml, MY_KEY: KEY, MORE: "b" });
    expect(url).toBe("https://models.test/v1/responses?api-version=1");
    expect(headers).toEqual({
      authorization: `Bearer ${KEY}`,
      "content-type": "application/json",
      "x-team": "a",
      "x-more": "b",
    });
  });

  test.each([
    ["nothing is configured", {}],
    ["the provider is one of the CLI's own", { CLI_B_CONFIG_TOML: 'model = "m"\n' }],
    ["the key comes from a command", { CLI_B_CONFIG_TOML: `${PROVIDER}auth = { command = "get-key" }\n` }],
    ["the login is the CLI's own", { CLI_B_CONFIG_TOML: `${PROVIDER}requires_openai_auth = true\n` }],
  ])("is not put where %s", (_, env: Record<string, string>) => {
    expect(findProbe(env)).toBeUndefined();
  });
});

/** What servers say where they have no such route, to whatever is sent there. */
const WITHOUT_ROUTE: readonly (readonly [string, number, string])[] = [
  ["nginx", 404, "<html><head><title>404 Not Found</title></head><body><center>nginx</center></body></html>"],
  ["a page about models", 404, "<html><title>Model hub</title>This page does not exist.</html>"],
  ["FastAPI, vLLM, LiteLLM", 404, '{"detail":"Not Found"}'],
  ["Gin, Ollama", 404, "404 page not found"],
  ["llama.cpp", 404, '{"error":{"code":404,"message":"File Not Found","type":"not_found_error"}}'],
  [
    "OpenAI's front",
    404,
    '{"error":{"message":"Invalid URL (POST /v1/x)","type":"invalid_request_error","code":null}}',
  ],
  ["Groq's front", 404, '{"error":{"message":"Unknown request URL: POST /openai/v1/x.","code":"unknown_url"}}'],
  ["Azure's front", 404, '{"error":{"code":"404","message":"Resource not found"}}'],
  ["an empty answer", 404, ""],
  ["FastAPI, another method", 405, '{"detail":"Method Not Allowed"}'],
  ["Python's http.server", 501, "<p>Message: Unsupported method ('POST').</p>"],
];

/** What is no proof that the route is missing. */
const UNPROVEN: readonly (readonly [string, number, string])[] = [
  ["OpenAI, no such model", 404, '{"error":{"message":"The model `` does not exist","code":"model_not_found"}}'],
  ["OpenAI, by its code alone", 404, '{"error":{"message":"Not found","code":"model_not_found"}}'],
  ["vLLM", 404, '{"object":"error","message":"The model `` does not exist.","type":"NotFoundError","code":404}'],
  ["Ollama", 404, '{"error":"model \\"\\" not found, try pulling it first"}'],
  ["Azure", 404, '{"error":{"code":"DeploymentNotFound","message":"The API deployment does not exist."}}'],
  ["a gateway", 404, '{"detail":{"error":"unknown project"}}'],
  ["a redirect", 302, ""],
  ["a page", 200, "<html></html>"],
  ["a wrong key", 401, '{"error":{"code":"invalid_api_key"}}'],
  ["a forbidden key", 403, ""],
  ["a rate limit", 429, ""],
  ["a fault", 500, ""],
  ["a gateway without its server", 502, "<html></html>"],
];

describe("the judgement", () => {
  test.each(WITHOUT_ROUTE)("%s: %d is no Responses API", (_, status, body) => {
    expect(probe().judge({ status, body })).toMatchObject({
      api: "absent",
      message: expect.stringContaining(`https://models.test/v1/responses answered ${status}`),
    });
  });

  test.each(UNPROVEN)("%s: %d proves nothing", (_, status, body) => {
    expect(probe().judge({ status, body }).api).toBe("unproven");
  });

  test.each([
    [400, '{"error":{"message":"Missing required parameter: \'model\'.","code":"missing_required_parameter"}}'],
    [422, '{"detail":[{"type":"missing","loc":["body","input"]}]}'],
  ])("%d to an empty request is a Responses API", (status, body) => {
    expect(probe().judge({ status, body }).api).toBe("present");
  });

  test("quotes neither the query nor what was answered", () => {
    const toml = `${PROVIDER}query_params = { "key" = "${KEY}" }\n`;
    const verdict = probe({ CLI_B_CONFIG_TOML: toml }).judge({ status: 404, body: `no ${KEY}` });
    expect(JSON.stringify(verdict)).not.toContain(KEY);
  });
});
