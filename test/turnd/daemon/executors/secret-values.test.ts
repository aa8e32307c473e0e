import { describe, expect, test } from "vitest";
import { isSecretName } from "../../../../src/turnd/daemon/executors/secrets/secret-names.ts";
import {
  isPlaceholder,
  secretsIn,
  secretsInArguments,
  secretsInEnvironment,
} from "../../../../src/turnd/daemon/executors/secrets/secret-values.ts";

describe("names", () => {
  test.each(
    "API_KEY apiKey x-api-key X-Api-Key OPENAI_API_KEY API_KEY_OPENAI KEY KEY1 DEPLOY_KEY_2 AWS_SECRET_ACCESS_KEY authToken _authToken GITHUB_TOKEN githubtoken TOKEN_PROD client_secret clientSecret SECRET DB_PASSWORD PGPASSWORD passwd DB_PASS NPM_AUTH Authorization Proxy-Authorization Cookie Set-Cookie session_cookie credentials GIT_CREDENTIAL PRIVATE_KEY privatekey passphrase sig JWT GITLAB_PAT npm_config_//registry/:_authToken".split(
      " ",
    ),
  )("%s is the name of a secret", (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each(
    "MAX_TOKENS max_output_tokens TOKENS_USED TOKEN_LIMIT TOKENIZER TOKENIZERS_PARALLELISM PUBLIC_KEY PUBLIC_KEY_PATH TOKEN_FILE SECRET_NAME KEY_ID TOKEN_URL author AUTHORS AUTHOR_NAME keyboard keybinds monkey turkey compass PASSENGER bypass env_key CLI_B_ENV_KEY bearer_token_env_var primary_key SORT_KEY cache_key PATH MAX_BYTES PROJECT_ROOT MODE oauth_scopes AUTH_MODE COOKIE_DOMAIN Accept Content-Type X-Project key_bindings".split(
      " ",
    ),
  )("%s is not", (name) => {
    expect(isSecretName(name)).toBe(false);
  });
});

test.each([
  ["SERVICE_TOKEN", "tok-5c1e9a7740", ["tok-5c1e9a7740"]],
  ["Authorization", "Bearer tok-5c1e9a7740", ["tok-5c1e9a7740"]],
  ["Authorization", `Basic ${btoa("user:pass-5c1e9a")}`, [btoa("user:pass-5c1e9a"), "pass-5c1e9a"]],
  ["Cookie", "sid=5c1e9a77405c; theme=dark", ["5c1e9a77405c"]],
  ["DB_PASSWORD", "83920174", ["83920174"]],
  ["API_KEY", "/wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0", ["/wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY0"]],
  ["DATABASE", "postgres://app:s3cr3t-pa%2Fss@db:5432/x?sslmode=off", ["s3cr3t-pa%2Fss", "s3cr3t-pa/ss"]],
  ["HTTPS_PROXY", "http://user:proxypass@proxy:3128", ["proxypass"]],
  ["REMOTE", "https://ghtoken1234567@github.com/a/b", ["ghtoken1234567"]],
  ["ENDPOINT", "https://x.example/v1?api_key=abcdef123456&page=12345678", ["abcdef123456"]],
  ["NOTE", "use ghp_0123456789abcdefABCDEF0123456789abcd for it", ["ghp_0123456789abcdefABCDEF0123456789abcd"]],
  ["A", "sk-ant-api03-0123456789abcdef", ["sk-ant-api03-0123456789abcdef"]],
  ["A", "AKIAIOSFODNN7EXAMPLE", ["AKIAIOSFODNN7EXAMPLE"]],
  ["A", "xoxb-123456789012-abcdef", ["xoxb-123456789012-abcdef"]],
  ["A", `AIza${"Sy0123456789".repeat(3)}`, [`AIza${"Sy0123456789".repeat(3)}`]],
  ["A", `svkey_${"0123abcd".repeat(6)}`, [`svkey_${"0123abcd".repeat(6)}`]],
  ["A", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", ["eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"]],
])("of %s = %s the secrets are found", (name, value, secrets) => {
  expect(secretsIn(name, value)).toEqual(secrets);
});

test("a key of several lines is found line by line as well", () => {
  const line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
  const pem = `-----BEGIN PRIVATE KEY-----\n${line}\nshort\n-----END PRIVATE KEY-----`;
  expect(secretsIn("SIGNING", pem)).toEqual([pem, line]);
});

test.each([
  ["MAX_BYTES", "10485760"],
  ["PROJECT_ROOT", "/workspace"],
  ["MAX_TOKENS", "100000000"],
  ["TOKEN", "10485760"],
  ["API_KEY", "/run/secrets/api-key"],
  ["API_KEY", "~/.config/api.key"],
  ["TOKEN", "https://idp.example/token"],
  ["API_KEY", "{env:LAB_KEY}"],
  ["API_KEY", "${LAB_KEY}"],
  ["API_KEY", "<your key here>"],
  ["PASSWORD", "disabled"],
  ["SECRET", "true"],
  ["KEY", "short"],
  ["TOKENIZER", "/models/tokenizer.json"],
  ["BASE_URL", "https://models.example/v1?page=1234567890"],
  ["REMOTE", "ssh://git@github.com/a/b"],
  ["MODE", "production"],
  ["author", "Somebody Who Wrote This"],
  ["COMMIT", "0123456789abcdef0123456789abcdef01234567"],
  ["MODEL", "skylark-7b-instruct-2024"],
  ["RISK", "risk-assessment-of-the-company"],
])("%s = %s holds none", (name, value) => {
  expect(secretsIn(name, value)).toEqual([]);
});

test("arguments are judged by their flags", () => {
  const values = [
    "--root",
    "/workspace",
    "--api-key",
    "abcdef-123456",
    "--token=ghijkl-123456",
    "--max-tokens",
    "12345678",
  ];
  expect(
    secretsInArguments([...values, "--header", "Authorization: Bearer mnopqr-123456", "-e", "DB_PASS=stuvwx-1"]),
  ).toEqual(["abcdef-123456", "ghijkl-123456", "mnopqr-123456", "stuvwx-1"]);
});

test("a header after its flag needs no space", () => {
  expect(
    secretsInArguments(["mcp-remote", "http://localhost:8080/sse", "--header", "X-Api-Key:mnopqr-123456"]),
  ).toEqual(["mnopqr-123456"]);
  expect(secretsInArguments(["-H", "X-Tenant:mnopqr-123456", "token-service:1.2.3456789"])).toEqual([]);
});

test("what stands in place of a key is none", () => {
  for (const word of ["ollama", "lm-studio", "sk-no-key-required", "not-needed", "EMPTY", "placeholder"]) {
    expect(isPlaceholder(word)).toBe(true);
    expect(secretsIn("API_KEY", word)).toEqual([]);
  }
  expect(isPlaceholder("ollama-1234")).toBe(false);
});

test("a long value costs no more than it is long", () => {
  const start = performance.now();
  expect(secretsIn("INSTRUCTIONS", "a".repeat(1_000_000))).toEqual([]);
  // It was the square of it: minutes.
  expect(performance.now() - start).toBeLessThan(10_000);
});

test("an environment gives the secrets by its names and shapes", () => {
  const env = {
    PATH: "/usr/bin:/bin",
    HOME: "/root",
    GITHUB_TOKEN: "gh-5c1e9a7740",
    PWD: "/workspace",
    EMPTY: "",
    GONE: undefined,
  };
  expect(secretsInEnvironment(env)).toEqual(["gh-5c1e9a7740"]);
});
