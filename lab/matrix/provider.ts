import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { CHAT_COMPLETIONS } from "../../src/scripted-model/apis/chat-completions.ts";
import { MESSAGES } from "../../src/scripted-model/apis/messages.ts";
import { RESPONSES } from "../../src/scripted-model/apis/responses.ts";
import type { Conversation } from "../../src/scripted-model/conversation.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import type { Part } from "../../src/scripted-model/reply.ts";
import { DONE, type Answer, type Piece, type Reply } from "./reply.ts";
import { writeResponse } from "./responses.ts";
import { CHILD, type CliId } from "./scene.ts";

/** A provider that does what a scene says. */
export interface Provider {
  readonly url: string;
  /** Of the same server behind a certificate that nobody has signed. */
  readonly tls: string;
  /** How often it was asked since it was last given something to play. */
  asked(): number;
  play(replies: readonly Reply[], child?: readonly Reply[]): void;
  close(): Promise<void>;
}

/** An answer that comes at once is over before CLI A has printed it; so is a frame behind another without a pause. */
const THINK_MS = 150;
const FRAME_GAP_MS = 3;
/** What was sent must have arrived before the connection goes. */
const BEFORE_RESET_MS = 200;
const APIS = [CHAT_COMPLETIONS, MESSAGES, RESPONSES];

/** Starts a provider on loopback, for one CLI. */
export async function startProvider(cli: CliId): Promise<Provider> {
  let left: Reply[] = [];
  let childLeft: Reply[] = [];
  let asked = 0;
  const play = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request);
    asked += 1;
    const conversation = cli === "cli-a" ? readConversation(request, body) : undefined;
    const queue = isOfChild(conversation) ? childLeft : left;
    const reply = queue.length > 1 ? queue.shift() : queue[0];
    if (reply !== undefined) await answer(reply, { request, response, conversation });
  };
  // The CLI has gone while it asked.
  const serve = (request: IncomingMessage, response: ServerResponse): void =>
    void play(request, response).catch(() => response.destroy());
  const servers = [createServer(serve), createTlsServer(makeCertificate(), serve)];
  const [port, tlsPort] = await Promise.all(
    servers.map(async (server) => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("no TCP address");
      return address.port;
    }),
  );
  return {
    url: `http://127.0.0.1:${port}/v1`,
    tls: `https://127.0.0.1:${tlsPort}/v1`,
    asked: () => asked,
    play(replies, child = []) {
      asked = 0;
      left = [...replies];
      childLeft = [...child];
    },
    close: async () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
        if (server.listening) await once(server, "close");
      }
    },
  };
}

interface Asked {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly conversation: Conversation | undefined;
}

async function answer(reply: Reply, { request, response, conversation }: Asked): Promise<void> {
  await delay(THINK_MS);
  switch (reply.do) {
    case "answer":
      await stream(reply, toFrames(reply, request, conversation), response);
      return;
    case "http":
      response.writeHead(reply.status, reply.headers).end(reply.body);
      return;
    case "act":
      reply.act(request, response, [...toFrames(DONE, request, conversation)].join(""));
      return;
    case "silence":
      response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      return;
    case "reset":
      response.socket?.resetAndDestroy();
      return;
    case "hang":
  }
}

async function stream({ ending }: Answer, frames: Iterable<string>, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const frame of frames) {
    response.write(frame);
    await delay(FRAME_GAP_MS);
  }
  if (ending === "stall") return;
  if (ending !== "cut") response.end();
  else setTimeout(() => response.socket?.resetAndDestroy(), BEFORE_RESET_MS);
}

/** The frames of an answer, in the API that was asked. */
function toFrames(reply: Answer, { url }: IncomingMessage, conversation: Conversation | undefined): Iterable<string> {
  const api = APIS.find(({ path }) => url?.endsWith(path));
  if (api === undefined || conversation === undefined) return writeResponse(reply);
  const { ending, pieces, tokens } = reply;
  const isOwn = typeof ending === "object" && !("code" in ending);
  return api.write(
    {
      type: "answer",
      parts: pieces.flatMap(toPart),
      ending: isOwn ? "stop" : ending,
      ...(tokens === undefined ? {} : { tokens }),
    },
    conversation,
  );
}

/** As CLI A names its tools. */
function toPart(piece: Piece): Part[] {
  switch (piece.type) {
    case "text":
      return [{ type: "text", text: piece.text }];
    case "reasoning":
      return [{ type: "reasoning", text: piece.text }];
    case "run": {
      const { command, timeoutMs: timeout } = piece;
      const input = { command, description: "Does as it is told", ...(timeout === undefined ? {} : { timeout }) };
      return [{ type: "tool_call", name: "bash", input }];
    }
    case "call": {
      const { name, input } = piece;
      return [
        typeof input === "string"
          ? { type: "tool_call", name, input: {}, written: input }
          : { type: "tool_call", name, input },
      ];
    }
    case "item":
      return [];
  }
}

function readConversation({ url }: IncomingMessage, body: string): Conversation | undefined {
  const api = APIS.find(({ path }) => url?.endsWith(path));
  return api === undefined || body === "" ? undefined : api.read(JSON.parse(body));
}

function isOfChild(conversation: Conversation | undefined): boolean {
  return conversation !== undefined && currentTurn(conversation).userText.includes(CHILD);
}

/** A key and a certificate for 127.0.0.1 that no authority has signed. Needs `openssl`. */
function makeCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const directory = mkdtempSync(join(tmpdir(), "certificate-"));
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  try {
    execFileSync("openssl", ["req", "-x509", "-days", "2", ...kind, ...name, "-keyout", key, "-out", cert], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    return { key: readFileSync(key), cert: readFileSync(cert) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
