import type { IncomingMessage, ServerResponse } from "node:http";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { answer, text } from "./cli-b/replies.ts";

/** What a provider does that no table of bodies can say, and how the turn ends: the right code or status, then defensible ones. */
export interface UnseenAct {
  readonly name: string;
  /** Absent: the common server's. */
  readonly baseUrl?: string;
  readonly act: (request: IncomingMessage, response: ServerResponse) => void;
  readonly cliA: readonly [string, ...string[]];
  readonly cliB: readonly [string, ...string[]];
}

const JSON_TYPE = { "content-type": "application/json" };
const SSE = { "content-type": "text/event-stream" };
const refusal = (message: string, code: string | null): string =>
  JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code } });

/** A whole answer, in the API that was asked. */
function wholeAnswer({ url }: IncomingMessage, words = "Done."): string {
  if (url?.endsWith("/responses") === true) {
    const reply = answer(text(words));
    return reply.do === "stream" ? reply.frames.join("") : "";
  }
  const chunk = (more: object): string =>
    `data: ${JSON.stringify({ id: "gen-1", object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
  return [
    chunk({ choices: [{ index: 0, delta: { role: "assistant", content: words } }] }),
    chunk({
      choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
      usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 },
    }),
    "data: [DONE]\n\n",
  ].join("");
}

/** One act for the first tries, another from then on. */
function inTurn(times: number, first: UnseenAct["act"], after: UnseenAct["act"]): UnseenAct["act"] {
  let asked = 0;
  return (request, response) => ((asked += 1) <= times ? first : after)(request, response);
}

const give =
  (status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): UnseenAct["act"] =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body);
const done: UnseenAct["act"] = (request, response) => void response.writeHead(200, SSE).end(wholeAnswer(request));
const both = (...codes: readonly [string, ...string[]]) => ({ cliA: codes, cliB: codes });

/** Labelled on 2026-11-25, before anything was run. */
export const UNSEEN_ACTS: readonly UnseenAct[] = [
  {
    name: "fifth-gzip-refusal",
    act: give(401, { ...JSON_TYPE, "content-encoding": "gzip" }, gzipSync(refusal("Invalid key.", "invalid_api_key"))),
    ...both("auth_failed"),
  },
  {
    name: "fifth-brotli-refusal",
    act: give(
      400,
      { ...JSON_TYPE, "content-encoding": "br" },
      brotliCompressSync(refusal("The context window is 8192 tokens.", "context_length_exceeded")),
    ),
    // Where the CLI did not ask for this encoding, its provider's words are lost.
    ...both("context_overflow", "invalid_request"),
  },
  {
    name: "fifth-json-as-text",
    act: give(402, { "content-type": "text/plain" }, refusal("Add funds to go on.", null)),
    ...both("quota_exceeded"),
  },
  {
    name: "fifth-byte-order-mark",
    act: give(401, JSON_TYPE, `\ufeff${refusal("Key revoked.", null)}`),
    ...both("auth_failed"),
  },
  {
    name: "fifth-latin-1",
    act: give(
      403,
      { "content-type": "text/plain; charset=iso-8859-1" },
      Buffer.from("Accès refusé à la clé", "latin1"),
    ),
    ...both("auth_failed"),
  },
  {
    name: "fifth-long-page",
    act: give(
      403,
      { "content-type": "text/html" },
      `<html><title>Forbidden</title>${"<p>Nothing here.</p>".repeat(9_000)}`,
    ),
    ...both("auth_failed"),
  },
  { name: "fifth-self-signed", baseUrl: "{tls}/v1", act: done, ...both("network_error") },
  {
    name: "fifth-short-of-its-length",
    act: (request, response) => {
      const body = wholeAnswer(request).slice(0, 120);
      response.writeHead(200, { ...SSE, "content-length": "90000" });
      response.write(body, () => setTimeout(() => response.socket?.destroy(), 200));
    },
    ...both("network_error"),
  },
  {
    name: "fifth-no-http",
    act: (request) => void request.socket.end("SSH-2.0-OpenSSH_9.2\r\n"),
    ...both("network_error", "provider_error"),
  },
  {
    name: "fifth-no-content",
    act: (_request, response) => void response.writeHead(204).end(),
    cliA: ["provider_error"],
    cliB: ["executor_unavailable", "provider_error", "network_error"],
  },
  {
    name: "fifth-redirected-to-itself",
    act: (request, response) => void response.writeHead(307, { location: request.url }).end(),
    ...both("network_error"),
  },
  { name: "fifth-redirected-well", act: redirectOnce(), cliA: ["completed"], cliB: ["completed", "network_error"] },
  {
    name: "fifth-login-to-network",
    act: give(511, { "content-type": "text/html" }, "<html><title>Network Authentication Required</title></html>"),
    ...both("provider_error", "network_error", "auth_failed"),
  },
  {
    name: "fifth-lines-of-windows",
    act: (request, response) => void response.writeHead(200, SSE).end(wholeAnswer(request).replaceAll("\n", "\r\n")),
    ...both("completed"),
  },
  {
    name: "fifth-comments-between",
    act: (request, response) =>
      void response.writeHead(200, SSE).end(wholeAnswer(request).replaceAll("\n\n", "\n\n: PROCESSING\n\n")),
    ...both("completed"),
  },
  {
    name: "fifth-bytes-that-are-no-text",
    act: (request, response) => {
      const [before = "", after = ""] = wholeAnswer(request, "Do@ne.").split("@", 2);
      response.writeHead(200, SSE).end(Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]));
    },
    cliA: ["completed"],
    // Labelled completed, wrongly: to this CLI bytes that are no UTF-8 are a malformed answer (`UTF8 error`), and it says so.
    cliB: ["provider_error"],
  },
  {
    name: "fifth-unavailable-once",
    act: inTurn(1, give(503, { "retry-after": "1", ...JSON_TYPE }, refusal("Restarting.", null)), done),
    ...both("completed"),
  },
  {
    name: "fifth-reset-then-refused",
    act: inTurn(1, (request) => void request.socket.resetAndDestroy(), give(401, JSON_TYPE, refusal("No.", null))),
    ...both("auth_failed"),
  },
  {
    name: "fifth-page-then-answer",
    act: inTurn(1, give(502, { "content-type": "text/html" }, "<html>Bad gateway</html>"), done),
    ...both("completed"),
  },
  {
    name: "fifth-rate-then-no-credit",
    act: inTurn(
      1,
      give(429, { "retry-after": "1", ...JSON_TYPE }, refusal("Slow down.", null)),
      give(402, JSON_TYPE, refusal("Credit ran out.", null)),
    ),
    ...both("quota_exceeded"),
  },
];

function redirectOnce(): UnseenAct["act"] {
  return (request, response) => {
    const isSecond = request.url?.includes("/second/") === true;
    if (isSecond) done(request, response);
    else response.writeHead(308, { location: request.url?.replace("/v1/", "/v1/second/") }).end();
  };
}
