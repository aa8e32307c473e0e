import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { z } from "zod";
import type { LoggedEvent, Session, TurnAdmission } from "../../../src/turnd/protocol/index.ts";

/** A turnd that answers at once: each turn has begun, said one thing and ended by the time it is asked for. */
export interface InstantTurnd {
  readonly url: string;
  close(): Promise<void>;
}

const SessionBody = z.object({ executor: z.enum(["cli-a", "cli-b"]), session_id: z.string() });
const TurnBody = z.object({ request_id: z.string(), session_id: z.string() });
const [SESSION, EVENTS] = [/^\/v1\/sessions\/([^/]+)$/, /^\/v1\/turns\/([^/]+)\/events$/];

/** Starts one on loopback, in this process: what it takes is the yardstick's as well as the service's. */
export async function startInstantTurnd(): Promise<InstantTurnd> {
  const sessions = new Map<string, Session>();
  const turns = new Map<string, string>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "" } = request;
    const [, sessionId = ""] = SESSION.exec(url) ?? [];
    const [, turnId = ""] = EVENTS.exec(url) ?? [];
    if (url === "/v1/ready") send(response, 200, { ready: true, checks: [] });
    else if (method === "POST" && url === "/v1/sessions") {
      const { executor, session_id } = SessionBody.parse(await readJson(request));
      if (sessions.has(session_id)) {
        send(response, 409, { detail: { code: "session_exists", message: "the session exists" } });
        return;
      }
      const created_at = new Date().toISOString();
      const session: Session = { session_id, executor, workspace: "/", permissions: {}, created_at, turns: [] };
      sessions.set(session_id, session);
      send(response, 201, session);
    } else if (sessionId !== "") send(response, 200, sessions.get(sessionId));
    else if (method === "POST" && url === "/v1/turns") {
      const { request_id, session_id } = TurnBody.parse(await readJson(request));
      const turn_id = `turn-${request_id}`;
      turns.set(turn_id, session_id);
      sessions.get(session_id)?.turns.push(turn_id);
      const [events_url, result_url] = [`/v1/turns/${turn_id}/events`, `/v1/turns/${turn_id}/result`];
      const ids = { turn_id, request_id, session_id };
      const admission: TurnAdmission = { ...ids, status: "running", queue_position: 0, events_url, result_url };
      send(response, 201, admission);
    } else if (turnId !== "") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        eventsOf(turnId, turns.get(turnId) ?? "")
          .map(frame)
          .join(""),
      );
    } else send(response, 404, { detail: { code: "route_not_found", message: url } });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function eventsOf(turn_id: string, session_id: string): LoggedEvent[] {
  const at = new Date().toISOString();
  const common = (seq: number) => ({ v: 1 as const, seq, at, turn_id, session_id, executor: "cli-b" as const });
  return [
    {
      ...common(1),
      type: "turn.started",
      data: { cli: { name: "cli-b" }, mode: "execute", resume: {} },
    },
    { ...common(2), type: "message", data: { message_id: "m1", text: "done", final: true } },
    {
      ...common(3),
      type: "turn.ended",
      data: {
        status: "completed",
        output: "done",
        resumed: false,
        degraded: false,
        duration_ms: 0,
        digest: "",
        counts: { events: 3, records: 1, unknown: 0, tools: 0, retries: 0 },
      },
    },
  ];
}

function frame(event: LoggedEvent): string {
  return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return JSON.parse(text);
}
