import { wholeFile } from "../cli-b.ts";
import { DONE, HANG, http, refuse, RESET } from "../reply.ts";
import { fails, only, type Scene } from "../scene.ts";
import { BAD_KEY, FAILURE, killed, onceAsked, SERVER_ERROR, TOOL, TWO_FAILURES } from "./parts.ts";

/** Requests that are repeated, until an answer comes, or the CLI gives up or is ended. */
export const RETRIES: readonly Scene[] = [
  fails("connection-refused", "network_error", "nothing listens; the CLI gives up by itself", HANG, {
    baseUrl: "http://127.0.0.1:9/v1",
  }),
  fails("no-such-host", "network_error", "the host's name is unknown", HANG, {
    baseUrl: "http://no-such-host.invalid/v1",
    cliA: killed("no-such-host"),
  }),
  fails("no-tls", "network_error", "https where plain http is spoken", DONE, {
    baseUrl: "https://{host}/v1",
    cliA: killed("no-tls", "config_invalid"),
    cliB: { name: "tls-error" },
  }),
  fails(
    "redirected",
    "network_error",
    "a redirect to a login page that is not there",
    http(302, "", { location: "https://login.invalid/" }),
    { cliA: { stop: TWO_FAILURES, also: ["idle_timeout", "provider_error"] } },
  ),
  fails("base-url-invalid", "config_invalid", "the address is no URL", HANG, {
    baseUrl: "not-a-url",
    cliA: { stop: TWO_FAILURES, also: ["network_error"] },
    cliB: { toml: wholeFile() },
  }),
  fails("rate-limited-then-refused", "auth_failed", "one 429, then a 401", [
    refuse(429, "Rate limit reached for requests.", "rate_limit_exceeded", { "retry-after": "1" }),
    refuse(401, "Incorrect API key provided."),
  ]),
  fails("error-then-refused", "auth_failed", "500, then 401", [SERVER_ERROR, BAD_KEY]),
  fails("unavailable-then-no-credit", "quota_exceeded", "503, then 402", [
    refuse(503, "Restarting."),
    refuse(402, "Nothing left to pay with."),
  ]),
  ...only(
    "cli-a",
    fails(
      "rate-limited-retry-after-until-killed",
      "rate_limited",
      "429 with retry-after: one request, then an hour of waiting",
      refuse(429, "Rate limit reached for requests.", "rate_limit_exceeded", { "retry-after": "3600" }),
      {
        stop: { ...TWO_FAILURES, when: { shows: FAILURE } },
        also: ["idle_timeout"],
      },
    ),
    fails(
      "rate-limited-without-words-until-killed",
      "rate_limited",
      "429 with a body that is no error",
      http(429, "slow"),
      { stop: TWO_FAILURES, also: ["idle_timeout"] },
    ),
    fails(
      "image-too-large-until-killed",
      "invalid_request",
      "400 for an image, taken for an overflow and repeated",
      refuse(400, "messages.0.content.1.image.source: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes"),
      { stop: TWO_FAILURES, also: ["idle_timeout"] },
    ),
    fails(
      "rate-limited-no-log",
      "idle_timeout",
      "429 again and again, no log: nothing proves the cause",
      refuse(429, "Too many tokens, please wait before trying again."),
      { logs: "none", stop: onceAsked(2, "idle_timeout", "SIGKILL") },
    ),
    fails(
      "rate-limited-log-of-errors",
      "rate_limited",
      "429 again and again, only errors are logged",
      refuse(429, "Service tier capacity exceeded for this model.", "3505"),
      {
        logs: "ERROR",
        stop: { ...TWO_FAILURES, when: { shows: /message="stream error"/, times: 2 } },
        also: ["idle_timeout"],
      },
    ),
    fails(
      "provider-error-log-of-warnings",
      "provider_error",
      "500 again and again, only warnings are logged",
      SERVER_ERROR,
      { logs: "WARN", stop: TWO_FAILURES, also: ["idle_timeout"] },
    ),
  ),
  ...only(
    "cli-b",
    fails("connection-closed", "network_error", "closed before an answer", RESET),
    fails("reset-after-tool", "network_error", "the second request is reset", [TOOL, RESET]),
    fails("default-provider", "network_error", "the default provider cannot be reached", HANG, {
      toml: 'model = "gpt-5.5"\nsandbox_mode = "danger-full-access"\n[features]\nunbounded_connection_retries = false\n',
      env: { CODEX_API_KEY: "FAKE-LAB-KEY-A" },
    }),
  ),
];
