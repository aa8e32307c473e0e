import { brotliCompressSync, gzipSync } from "node:zlib";
import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import { DONE, HANG, http, JSON_TYPE, PLAIN, refuse, RESET, say, SSE, type Act, type Reply } from "../reply.ts";
import { fails, works, type Scene } from "../scene.ts";
import { FAILURE } from "./parts.ts";

const act = (does: Act): Reply => ({ do: "act", act: does });
const error = (message: string, code: string | null = null): string =>
  JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } });
/** A good answer, changed on its way. */
const changed = (change: (whole: string) => string | Buffer): Reply =>
  act((_request, response, whole) => void response.writeHead(200, SSE).end(change(whole)));
const asked = (
  name: string,
  code: FailureCode,
  why: string,
  replies: Reply | readonly Reply[],
  more: Partial<Scene> = {},
): Scene =>
  fails(name, code, why, replies, {
    // A request that CLI A repeats takes a minute to be given up.
    cliA: {
      stop: {
        when: [
          { shows: FAILURE, times: 2 },
          { shows: /"step_start"/, times: 8 },
        ],
        signals: ["SIGKILL"],
        by: "idle_timeout",
      },
    },
    ...more,
  });

/** What happens to a request and its answer on their way. */
export const NETWORK: readonly Scene[] = [
  asked(
    "refusal-gzipped",
    "auth_failed",
    "401, gzipped",
    http(401, gzipSync(error("Invalid key.", "invalid_api_key")), { ...JSON_TYPE, "content-encoding": "gzip" }),
  ),
  asked(
    "refusal-in-brotli",
    "context_overflow",
    "400 in an encoding that was not asked for",
    http(400, brotliCompressSync(error("The context window is 8192 tokens.", "context_length_exceeded")), {
      ...JSON_TYPE,
      "content-encoding": "br",
    }),
    { also: ["invalid_request"] },
  ),
  asked(
    "refusal-as-text",
    "quota_exceeded",
    "402, JSON that is said to be text",
    http(402, error("Add funds to go on."), PLAIN),
  ),
  asked(
    "refusal-with-mark",
    "auth_failed",
    "401 that begins with a byte order mark",
    http(401, `\ufeff${error("Key revoked.")}`, JSON_TYPE),
  ),
  asked(
    "refusal-in-latin-1",
    "auth_failed",
    "403 in Latin-1",
    http(403, Buffer.from("Accès refusé à la clé", "latin1"), { "content-type": "text/plain; charset=iso-8859-1" }),
  ),
  asked(
    "refusal-of-many-pages",
    "auth_failed",
    "403 with a page of 180 kB",
    http(403, `<html><title>Forbidden</title>${"<p>Nothing here.</p>".repeat(9_000)}`),
  ),
  asked("certificate-unsigned", "network_error", "a certificate that nobody has signed", DONE, { baseUrl: "{tls}" }),
  asked(
    "answer-short-of-its-length",
    "network_error",
    "the connection ends before the length that was said",
    act((_request, response, whole) => {
      response.writeHead(200, { ...SSE, "content-length": "90000" });
      response.write(whole.slice(0, 120), () => setTimeout(() => response.socket?.destroy(), 200));
    }),
  ),
  asked(
    "answer-is-no-http",
    "network_error",
    "another protocol",
    act((request) => void request.socket.end("SSH-2.0-OpenSSH_9.2\r\n")),
    { also: ["provider_error"] },
  ),
  asked(
    "answer-without-content",
    "provider_error",
    "204",
    act((_request, response) => void response.writeHead(204).end()),
    { also: ["executor_unavailable", "network_error"] },
  ),
  asked(
    "redirected-to-itself",
    "network_error",
    "307 without end",
    act((request, response) => void response.writeHead(307, { location: request.url }).end()),
  ),
  works(
    "redirected-well",
    "308 to another path",
    act((request, response, whole) => {
      if (request.url?.includes("/second/") === true) response.writeHead(200, SSE).end(whole);
      else response.writeHead(308, { location: request.url?.replace("/v1/", "/v1/second/") }).end();
    }),
    { text: "Done.", also: ["network_error"] },
  ),
  asked(
    "login-to-network",
    "provider_error",
    "511 of a network's login",
    http(511, "<html><title>Network Authentication Required</title></html>"),
    { also: ["network_error", "auth_failed"] },
  ),
  works(
    "lines-of-windows",
    "lines end in CR LF",
    changed((whole) => whole.replaceAll("\n", "\r\n")),
    { text: "Done." },
  ),
  works(
    "comments-between",
    "comments between the frames",
    changed((whole) => whole.replaceAll("\n\n", "\n\n: PROCESSING\n\n")),
    { text: "Done." },
  ),
  works(
    "bytes-that-are-no-text",
    "a byte that is no UTF-8 in a stream",
    changed((whole) => {
      const at = whole.indexOf("Done.") + 2;
      return Buffer.concat([Buffer.from(whole.slice(0, at)), Buffer.from([0xff]), Buffer.from(whole.slice(at))]);
    }),
    {
      text: "Do\ufffdne.",
      // To this CLI it is a malformed answer.
      cliB: { status: "failed", code: "provider_error", text: null },
    },
  ),
  works("unavailable-once", "503 with Retry-After: 1, then the answer", [
    refuse(503, "Restarting.", null, { "retry-after": "1" }),
    DONE,
  ]),
  works("page-then-answer", "502 with a page, then the answer", [http(502, "<html>Bad gateway</html>"), DONE]),
  asked("reset-then-refused", "auth_failed", "a reset, then 401", [RESET, refuse(401, "No.")]),
  asked("rate-then-no-credit", "quota_exceeded", "429 with Retry-After: 1, then 402", [
    refuse(429, "Slow down.", null, { "retry-after": "1" }),
    refuse(402, "Credit ran out."),
  ]),
  asked("reset-in-stream", "network_error", "every stream is reset", say("This breaks off", "cut"), {
    also: ["provider_error"],
    cliB: { text: "This breaks off" },
  }),
  asked("host-unknown", "network_error", "a host whose name nobody knows", DONE, {
    baseUrl: "http://llm.internal.invalid:8000/v1",
  }),
  asked("port-closed", "network_error", "nothing listens", HANG, { baseUrl: "http://127.0.0.1:1/v1" }),
  asked("proxy-refuses", "network_error", "a proxy that nobody serves stands before the provider", HANG, {
    baseUrl: "http://models.example:8080/v1",
    also: ["provider_error"],
  }),
  {
    name: "page-for-an-answer",
    why: "200 with a page",
    replies: [http(200, "<html>Sign in</html>")],
    cliA: { stop: { when: { shows: /"step_start"/, times: 8 }, signals: ["SIGKILL"], by: "idle_timeout" } },
  },
  {
    name: "json-for-an-answer",
    why: "200 with an error as JSON",
    replies: [http(200, { error: { message: "no such thing", code: 500 } })],
    cliA: { stop: { when: { shows: /"step_start"/, times: 8 }, signals: ["SIGKILL"], by: "idle_timeout" } },
  },
  asked("no-answer", "idle_timeout", "the request is never answered, and nobody ends it for a while", HANG, {
    stop: { when: { afterMs: 60_000 }, signals: ["SIGINT", "SIGKILL"], by: "idle_timeout" },
    cliA: {
      stop: { when: { afterMs: 60_000 }, signals: ["SIGKILL"], by: "idle_timeout" },
      also: ["provider_timeout"],
    },
  }),
];
