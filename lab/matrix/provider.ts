import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { ANSWERS } from "../../test/turnd/daemon/executors/answers/answers.ts";
import { toText } from "../../test/turnd/daemon/executors/answers/answer.ts";
import { makeCertificate } from "./certificate.ts";
import { STREAMS } from "./streams.ts";
import { UNSEEN_ACTS } from "./unseen-acts.ts";

/** How a CLI reaches a provider that behaves in one way. */
export interface Case {
  readonly name: string;
  readonly api: "chat" | "messages" | "responses" | "any";
  /** Stands for the provider; `{origin}` is the server's, `{tls}` that of one whose certificate nobody signed. */
  readonly baseUrl: string;
  /** Whether the CLI is stopped after a short time limit. */
  readonly isSlow: boolean;
}

type Act = (request: IncomingMessage, response: ServerResponse) => void;

/** The beginning of a good answer. */
const BEGINNING = `${STREAMS[0]?.body.split("\n\n", 1).join("")}\n\n`;
const ACTS: Readonly<Record<string, Act>> = {
  "reset-at-once": (request) => request.socket.resetAndDestroy(),
  "reset-in-stream": (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(BEGINNING, () => response.socket?.resetAndDestroy());
  },
  hang: () => undefined,
  stall: (_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(BEGINNING);
  },
  redirect: (_request, response) => void response.writeHead(302, { location: "https://login.invalid/" }).end(),
  "ok-html": (_request, response) =>
    void response.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in</html>"),
  "ok-json-error": (_request, response) =>
    void response
      .writeHead(200, { "content-type": "application/json" })
      .end('{"error":{"message":"no such thing","code":500}}'),
  ...Object.fromEntries(UNSEEN_ACTS.map(({ name, act }) => [name, act])),
};

/** Acts with an address of their own. */
const ELSEWHERE = new Map(
  UNSEEN_ACTS.flatMap(({ name, baseUrl }) => (baseUrl === undefined ? [] : [[name, { baseUrl }] as const])),
);

// A number: the words of a path would stand in the CLI's message, and look like the provider's.
const PATHS: string[] = [];
const at = (name: string, api: Case["api"] = "any"): Case => ({
  name,
  api,
  baseUrl: `{origin}/${PATHS.push(name) - 1}/v1`,
  isSlow: /^(?:hang|stall)$/.test(name),
});

/** Every way a provider may fail. */
export const CASES: readonly Case[] = [
  ...ANSWERS.map(({ name }) => at(name, /^(?:\w+-)?anthropic-/.test(name) ? "messages" : "any")),
  ...STREAMS.map(({ name, api }) => at(name, api)),
  ...Object.keys(ACTS).map((name) => ({ ...at(name), ...ELSEWHERE.get(name) })),
  { ...at("refused"), baseUrl: "http://127.0.0.1:9/v1" },
  { ...at("no-such-host"), baseUrl: "http://no-such-host.invalid/v1" },
  { ...at("no-tls"), baseUrl: "https://{host}/v1" },
  { ...at("no-url"), baseUrl: "not-a-url" },
];

/** Starts the providers; each has a path of its own. @returns where, and how to stop */
export async function startProviders(): Promise<{ origin: string; tls: string; close(): Promise<void> }> {
  const answers = new Map(ANSWERS.map((answer) => [answer.name, answer]));
  const streams = new Map(STREAMS.map((stream) => [stream.name, stream]));
  const serve = (request: IncomingMessage, response: ServerResponse): void => {
    const name = PATHS[Number(request.url?.split("/")[1])] ?? "";
    const answer = answers.get(name);
    const stream = streams.get(name);
    request.resume();
    request.on("end", () => {
      if (answer !== undefined) {
        const type = typeof answer.body === "string" ? "text/html" : "application/json";
        response.writeHead(answer.status, { "content-type": type }).end(toText(answer));
      } else if (stream !== undefined) {
        response.writeHead(200, { "content-type": "text/event-stream" }).end(stream.body);
      } else {
        ACTS[name]?.(request, response);
      }
    });
  };
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
    origin: `http://127.0.0.1:${port}`,
    tls: `https://127.0.0.1:${tlsPort}`,
    close: async () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
        if (server.listening) await once(server, "close");
      }
    },
  };
}

/** Puts the servers of this run into an address. */
export function resolveUrl(
  baseUrl: string,
  { origin, tls }: { readonly origin: string; readonly tls: string },
): string {
  return baseUrl.replace("{origin}", origin).replace("{tls}", tls).replace("{host}", new URL(origin).host);
}
