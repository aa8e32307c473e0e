import { request } from "undici";
import type { Figure } from "./figures.ts";
import { cpuSeconds } from "./service/cpu-time.ts";
import type { ServiceStage } from "./service/service-stage.ts";
import type { Stage } from "./stage.ts";

/** A body that is as bad as one can be below the limits. */
interface Hostile {
  readonly what: string;
  readonly path: string;
  readonly body: string;
  readonly type?: string;
}

const TIMES = 20;
const TARGET_MS = 20;
const KIBIBYTE = 1_024;
const VALUES = 19_900;
const TURND_VALUES = 9_900;

const PUBLIC = 16 * KIBIBYTE - 100;
const LONG = 20_971_520 - 100;

const repeat = (unit: string, bytes: number): string => unit.repeat(Math.floor(bytes / unit.length));
const list = (unit: string, count: number): string => `[${`${unit},`.repeat(count - 1)}${unit}]`;
const named = (count: number): string => Array.from({ length: count }, (_, at) => `"k${at.toString(36)}":1`).join(",");
const nested = (unit: string, count: number): string => list(`${unit.repeat(60)}${"]".repeat(60)}`, count);

const TOKEN = "/api/auth/token";
const PARSE = (kbId: string): string => `/api/knowledge/databases/${kbId}/documents/parse`;

/** Processor time that the service takes for one body. A body of an image has no target: it is as much as it is long. */
export async function benchServiceBodies({ engine, stage, caller }: ServiceStage): Promise<Figure[]> {
  const made = await caller.call("POST", "/api/knowledge/databases", { name: "bodies" });
  const kbId = /kb_[0-9a-f]{32}/.exec(JSON.stringify(made.body))?.[0] ?? "";
  const calls = "/api/agent-invocation/agent-call/runs";
  const hostile: Hostile[] = [
    { what: "a login, names of 16 KiB", path: TOKEN, body: `{${named(490)}}` },
    { what: "a login, a form of 16 KiB", path: TOKEN, body: repeat("k=1&", 3_900), type: FORM },
    { what: "a login, one form field of 16 KiB", path: TOKEN, body: repeat("%41", PUBLIC), type: FORM },
    { what: "a login, lists in lists", path: TOKEN, body: nested("[", 15) },
    { what: "a thread, unknown names", path: "/api/chat/thread", body: `{${named(6_000)}}` },
    { what: "a thread, metadata of lists", path: "/api/chat/thread", body: `{"metadata":{"a":${nested("[", 320)}}}` },
    { what: "ids that are none, in a union", path: PARSE(kbId), body: list("1", VALUES) },
    { what: "empty ids, in a union", path: PARSE(kbId), body: `{"file_ids":${list('""', 19_000)}}` },
    { what: "a call, unknown names", path: calls, body: `{${named(VALUES / 2)}}` },
    { what: "a call, messages that are none", path: calls, body: `{"messages":${list("1", VALUES)}}` },
    { what: "a call, parts without type", path: calls, body: message(list("{}", VALUES - 10)) },
    {
      what: "a call, messages of wrong content",
      path: calls,
      body: `{"messages":${list('{"role":1,"content":1}', 3_900)}}`,
    },
    {
      what: "documents that are none",
      path: PARSE(kbId).replace("parse", "add"),
      body: `{"items":${list("1", VALUES)}}`,
    },
  ];
  const image = { what: "a run, an image of 20 MiB", path: "/api/agent/runs", body: runWith("A") };
  const escaped = { what: "a run, 20 MiB of escapes", path: "/api/agent/runs", body: runWith("\\n") };
  const ask = { url: stage.urls[0], pid: stage.service.pid(), headers: caller.headers, of: `${engine}: ` };
  return [...(await measureAll(ask, hostile, TARGET_MS)), ...(await measureAll(ask, [image, escaped], undefined))];
}

/** The same for turnd's own port. */
export async function benchTurndBodies({ turnd }: Stage): Promise<Figure[]> {
  const hostile: Hostile[] = [
    { what: "a login, names of 16 KiB", path: "/inspector/session", body: `{${named(490)}}` },
    { what: "a ticket, unknown names", path: "/v1/tickets", body: `{${named(4_900)}}` },
    { what: "a turn, unknown names", path: "/v1/turns", body: `{${named(TURND_VALUES / 2)}}` },
    { what: "a turn, parts that are none", path: "/v1/turns", body: `{"input":${list("1", TURND_VALUES)}}` },
    { what: "a turn, parts of lists", path: "/v1/turns", body: `{"input":${nested("[", 160)}}` },
    {
      what: "a session, servers that are none",
      path: "/v1/sessions",
      body: `{"mcp_servers":{${named(TURND_VALUES / 2 - 2)}}}`,
    },
  ];
  const ask = { url: turnd.url, pid: turnd.pid, headers: {}, of: "turnd: " };
  return measureAll(ask, hostile, TARGET_MS);
}

const FORM = "application/x-www-form-urlencoded";

function message(content: string): string {
  return `{"messages":[{"role":"user","content":${content}}]}`;
}

function runWith(unit: string): string {
  return `{"agent_slug":"none","thread_id":"none","query":1,"image_content":"${repeat(unit, LONG)}"}`;
}

interface Asked {
  readonly url: string;
  readonly pid: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly of: string;
}

async function measureAll(asked: Asked, bodies: readonly Hostile[], targetMs: number | undefined): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const hostile of bodies) {
    for (let time = 0; time < TIMES; time += 1) await send(asked, hostile);
    const before = cpuSeconds(asked.pid);
    for (let time = 0; time < TIMES; time += 1) await send(asked, hostile);
    const each = (1_000 * (cpuSeconds(asked.pid) - before)) / TIMES;
    figures.push({
      measure: `${asked.of}${hostile.what}, processor time`,
      turnd: `${each.toFixed(1)} ms`,
      yardstick: `${TARGET_MS} ms`,
      ratio: each / TARGET_MS,
      ...(targetMs === undefined ? {} : { target: "<= 1" }),
    });
  }
  return figures;
}

/** Each is refused for what it is made of: one that a limit refuses, or that is taken, measures nothing. */
async function send({ url, headers }: Asked, { path, body, type = "application/json", what }: Hostile): Promise<void> {
  const answer = await request(`${url}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": type },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 422) throw new Error(`${what}: ${answer.statusCode} ${text.slice(0, 300)}`);
}
