import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { setTimeout } from "node:timers/promises";
import { CHAT_COMPLETIONS } from "./apis/chat-completions.ts";
import { MESSAGES } from "./apis/messages.ts";
import type { ModelApi } from "./apis/model-api.ts";
import { RESPONSES } from "./apis/responses.ts";
import type { Conversation } from "./conversation.ts";
import { createDirector, type Director } from "./direct.ts";
import type { Answer, Ending, Refusal, Reply, Scenario } from "./reply.ts";
import { SCENARIOS } from "./scenarios.ts";

/** A request as it was parsed, for tests. */
export interface RecordedRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly conversation: Conversation;
  /** The parsed body, for what no scenario needs: images, schemas. */
  readonly body: unknown;
  readonly scenario: string;
}

/** A running scripted model. */
export interface ScriptedModel {
  /** Base URL for the CLIs, ending in `/v1`. */
  readonly url: string;
  /** The newest 500 requests, oldest first. */
  readonly requests: readonly RecordedRequest[];
  /** Breaks every connection, hanging ones too, and stops. Safe to call twice. */
  close(): Promise<void>;
}

export interface ScriptedModelOptions {
  /** 0, the default, picks one. */
  readonly port?: number;
  /** Address it listens on, loopback by default; a container reaches its host by another one. */
  readonly host?: string;
  /** Further scenarios by name; they win over those of the same name. */
  readonly scenarios?: Readonly<Record<string, Scenario>>;
  /**
   * Milliseconds between the frames of a stream, 3 by default. With 0 an answer of some 50 deltas comes at once, and
   * CLI A then ends before it has printed it: exit 0, no text and no `step_finish`, in 28 of 34 runs of both versions.
   * turnd then takes it from the CLI's store, which costs the turn a second or two.
   */
  readonly frameGapMs?: number;
  /**
   * Milliseconds until an answer begins, 150 by default. With 0 the turn ends before CLI B has reported how its last
   * command ended, in half of all turns under its sandbox; with 50 in one of twelve, with 100 in none.
   */
  readonly thinkMs?: number;
  /** Ends of paths that are answered as by a server without that API, such as `/responses`. */
  readonly without?: readonly string[];
  /** When set, a request with another key is refused with 401. */
  readonly apiKey?: string;
}

/** Milliseconds between the frames of a stream that a person reads: some 600 characters a second. */
export const READABLE_GAP_MS = 40;

const APIS: readonly ModelApi[] = [RESPONSES, CHAT_COMPLETIONS, MESSAGES];
const MAX_RECORDED = 500;

/**
 * Starts a server that plays a language model for both CLIs, after a script.
 *
 * Only the conversation it is sent decides its answer, so a resumed session shows what its history holds.
 */
export async function startScriptedModel(options: ScriptedModelOptions = {}): Promise<ScriptedModel> {
  const requests: RecordedRequest[] = [];
  const director = createDirector({ ...SCENARIOS, ...options.scenarios });
  const server = createServer((request, response) => {
    const record = (entry: RecordedRequest): void => {
      if (requests.push(entry) > MAX_RECORDED) requests.shift();
    };
    serve(request, response, {
      director,
      record,
      apiKey: options.apiKey,
      without: options.without ?? [],
      frameGapMs: options.frameGapMs ?? 3,
      thinkMs: options.thinkMs ?? 150,
    }).catch((error: unknown) => {
      // A client that disconnects ends its own request and nothing else.
      response.destroy(error instanceof Error ? error : new Error(String(error)));
    });
  });
  const host = options.host ?? "127.0.0.1";
  server.listen(options.port ?? 0, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`no TCP address: ${String(address)}`);
  return {
    url: `http://${host}:${address.port}/v1`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Stage {
  readonly director: Director;
  readonly record: (entry: RecordedRequest) => void;
  readonly apiKey: string | undefined;
  readonly without: readonly string[];
  readonly frameGapMs: number;
  readonly thinkMs: number;
}

async function serve(request: IncomingMessage, response: ServerResponse, stage: Stage): Promise<void> {
  const path = new URL(request.url ?? "/", "http://127.0.0.1").pathname;
  if (request.method === "GET" && path.endsWith("/models")) {
    sendJson(response, 200, JSON.stringify({ object: "list", data: [{ id: "scripted", object: "model" }] }));
    return;
  }
  const api = APIS.find((candidate) => path.endsWith(candidate.path) && !stage.without.includes(candidate.path));
  if (request.method !== "POST" || api === undefined) {
    sendJson(response, 404, JSON.stringify({ detail: "Not Found" }));
    return;
  }
  if (stage.apiKey !== undefined && readKey(request) !== stage.apiKey) {
    const refusal = {
      type: "refusal",
      status: 401,
      code: "invalid_api_key",
      message: "Incorrect API key provided.",
    } as const;
    sendJson(response, 401, api.describe(refusal));
    return;
  }
  const read = await readConversation(request, api);
  if (typeof read === "string") {
    const refusal = { type: "refusal", status: 400, code: "invalid_request", message: read } as const;
    sendJson(response, 400, api.describe(refusal));
    return;
  }
  const { conversation, body } = read;
  const { scenario, reply } = stage.director(conversation);
  stage.record({ path, headers: request.headers, conversation, body, scenario });
  if (stage.thinkMs > 0) await setTimeout(stage.thinkMs);
  if (reply.type === "answer") await stream(response, reply.ending, api.write(reply, conversation), stage.frameGapMs);
  else send(response, reply, api);
}

/** @returns the conversation, or why the body is none */
async function readConversation(
  request: IncomingMessage,
  api: ModelApi,
): Promise<Pick<RecordedRequest, "conversation" | "body"> | string> {
  try {
    const body = await json(request);
    return { conversation: api.read(body), body };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function send(response: ServerResponse, reply: Exclude<Reply, Answer>, api: ModelApi): void {
  switch (reply.type) {
    case "refusal":
      sendRefusal(response, reply, api);
      return;
    case "page":
      response.writeHead(200, { "content-type": "text/html" }).end(reply.html);
      return;
    case "silence":
      response.writeHead(200, STREAM_HEADERS).flushHeaders();
      return;
    case "hang":
  }
}

const STREAM_HEADERS = { "content-type": "text/event-stream", "cache-control": "no-cache" } as const;

async function stream(
  response: ServerResponse,
  ending: Ending,
  frames: Iterable<string>,
  frameGapMs: number,
): Promise<void> {
  response.writeHead(200, STREAM_HEADERS);
  const isLeftOpen = ending === "cut" || ending === "stall";
  await pipeline(Readable.from(paceFrames(frames, frameGapMs)), response, { end: !isLeftOpen });
  // What was written is sent before the connection breaks: the client sees half an answer, not none.
  if (ending === "cut") response.socket?.destroySoon();
}

async function* paceFrames(frames: Iterable<string>, gapMs: number): AsyncIterable<string> {
  for (const frame of frames) {
    yield frame;
    if (gapMs > 0) await setTimeout(gapMs);
  }
}

function sendRefusal(response: ServerResponse, refusal: Refusal, api: ModelApi): void {
  for (const [name, value] of Object.entries(refusal.headers ?? {})) response.setHeader(name, value);
  sendJson(response, refusal.status, refusal.body ?? api.describe(refusal));
}

function sendJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

function readKey({ headers }: IncomingMessage): string | undefined {
  const anthropic = headers["x-api-key"];
  return typeof anthropic === "string" ? anthropic : headers.authorization?.replace(/^Bearer /, "");
}
