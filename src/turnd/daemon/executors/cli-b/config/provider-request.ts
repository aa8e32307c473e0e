import type { Configuration } from "../../contract/configuration.ts";
import type { ProviderAnswer, ProviderRequest, ProviderVerdict } from "../../contract/provider-request.ts";
import { readJsonLine } from "../../contract/json-line.ts";
import { readDetails } from "./details.ts";
import { readProvider } from "./given-toml.ts";
import { asTable, parseToml, type TomlTable } from "./toml.ts";

/** No model and no input: every implementation of the Responses API refuses it, and none has anything to compute. */
const EMPTY_REQUEST = "{}";
/** Measured; NODE_EXTRA_CA_CERTS counts for nothing. Source: docs/contracts/cli-b.md §11. */
const CERTIFICATES = { replacing: ["SSL_CERT_FILE", "SSL_CERT_DIR"], adding: ["CODEX_CA_CERTIFICATE"] } as const;
const NO_ROUTE: readonly number[] = [404, 405, 501];
const REFUSED_AS_REQUEST: readonly number[] = [400, 422];
/** An API's 404 with such words is about what was asked for, not about the address: `model_not_found`, `DeploymentNotFound`. */
const ABOUT_SOMETHING_ELSE = /model|deployment|engine|account|organi[sz]ation|project|api.?key/i;

/**
 * Asks the provider whether it implements `/responses`, the only API that this CLI uses.
 *
 * Undefined where the CLI finds its provider or its key in a way of its own: a built-in provider, a command, AWS.
 */
export function providerRequest(configuration: Configuration): ProviderRequest | undefined {
  const provider = readProviderSettings(configuration);
  const baseUrl = provider?.["base_url"];
  if (provider === undefined || typeof baseUrl !== "string" || !URL.canParse(baseUrl)) return undefined;
  if (["auth", "aws", "requires_openai_auth"].some((way) => Boolean(provider[way]))) return undefined;
  const url = new URL(baseUrl);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}/responses`;
  const shown = `${url.origin}${url.pathname}`;
  for (const [name, value] of Object.entries(readTexts(provider["query_params"]))) url.searchParams.set(name, value);
  return {
    url: url.href,
    headers: { ...readHeaders(provider, configuration.env), "content-type": "application/json" },
    body: EMPTY_REQUEST,
    certificates: CERTIFICATES,
    judge: (answer) => judge(shown, answer),
  };
}

function readProviderSettings(configuration: Configuration): TomlTable | undefined {
  const details = readDetails(configuration);
  switch (details.source) {
    case "none":
      return undefined;
    case "variables":
      return { base_url: details.settings.baseUrl, env_key: details.settings.envKey };
    case "toml": {
      const parsed = parseToml(details.toml);
      return parsed.ok ? readProvider(parsed.table) : undefined;
    }
  }
}

function readHeaders(provider: TomlTable, env: Configuration["env"]): Record<string, string> {
  const envKey = provider["env_key"];
  const key = typeof envKey === "string" ? env[envKey] : provider["experimental_bearer_token"];
  const fromEnv = Object.entries(readTexts(provider["env_http_headers"])).flatMap(([name, variable]) => {
    const value = env[variable];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    ...(typeof key === "string" ? { authorization: `Bearer ${key}` } : {}),
    ...readTexts(provider["http_headers"]),
    ...Object.fromEntries(fromEnv),
  };
}

function readTexts(value: unknown): Record<string, string> {
  const texts = Object.entries(asTable(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts);
}

function judge(url: string, { status, body }: ProviderAnswer): ProviderVerdict {
  const answer = `POST ${url} answered ${status}`;
  if (REFUSED_AS_REQUEST.includes(status)) return { api: "present", message: `${answer} to an empty request.` };
  if (!NO_ROUTE.includes(status)) {
    return { api: "unproven", message: `${answer}, which does not show whether it has the Responses API.` };
  }
  if (ABOUT_SOMETHING_ELSE.test(readError(body))) {
    return { api: "unproven", message: `${answer}, but not about the address.` };
  }
  return {
    api: "absent",
    message: `${answer}: there is no Responses API, the only one CLI B speaks.`,
    remedy:
      "correct the base URL, choose a provider that has that API, or set TURND_CHECK_PROVIDER=off if it is there after all",
  };
}

/** What an API says of its refusal, as JSON; empty for a page, whatever words stand on it. */
function readError(body: string): string {
  return readJsonLine(body).kind === "value" ? body : "";
}
