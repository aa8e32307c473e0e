import { randomBytes } from "node:crypto";
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
  /** How it is refused; absent: 422. */
  readonly status?: number;
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
const RUNS = "/api/agent/runs";
const TOOLS = "/api/agent-tools/mcp";
/** The longest is all that a request may have. */
const IMAGES_MIB = [1, 5, 10];
const PARSE = (kbId: string): string => `/api/knowledge/databases/${kbId}/documents/parse`;

/** Processor time that the service takes for one body. One that may be long has no target: it is as much as it is long. */
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
  const long: Hostile[] = [
    ...IMAGES_MIB.map((mebibytes) => ({
      what: `a run, an image of ${mebibytes} MiB`,
      path: RUNS,
      // Read, checked and hashed; there is no thread to keep it in.
      body: JSON.stringify({ agent_slug: "none", thread_id: "none", query: "q", image_content: image(mebibytes) }),
      status: 404,
    })),
    { what: "a run, 20 MiB of a text that is no image", path: RUNS, body: runWith("A") },
    { what: "a run, 20 MiB of escapes", path: RUNS, body: runWith("\\n") },
  ];
  const ask = { url: stage.urls[0], pid: stage.service.pid(), headers: caller.headers, of: `${engine}: ` };
  const stranger = { ...ask, headers: {} };
  const tools = { what: "a call of a tool, unknown names", path: TOOLS, body: `{${named(6_000)}}`, status: 401 };
  return [
    ...(await measureAll(ask, hostile, targetOf)),
    ...(await measureAll(stranger, [tools], targetOf)),
    ...(await measureAll(ask, long, parsedAlone)),
  ];
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
  const long: Hostile[] = [
    ...IMAGES_MIB.map((mebibytes) => ({
      what: `a turn, an image of ${mebibytes} MiB`,
      path: "/v1/turns",
      // Read, checked and hashed; there is no CLI that would run it.
      body: turnWith(image(mebibytes)),
    })),
    {
      what: "a recording, 20 MiB of empty lines",
      path: "/v1/replays",
      body: `{"recording":${list('""     ', LONG / 8)}}`,
    },
  ];
  const ask = { url: turnd.url, pid: turnd.pid, headers: {}, of: "turnd: " };
  return [...(await measureAll(ask, hostile, targetOf)), ...(await measureAll(ask, long, parsedAlone))];
}

const FORM = "application/x-www-form-urlencoded";

function message(content: string): string {
  return `{"messages":[{"role":"user","content":${content}}]}`;
}

/** As base64, which differs everywhere. */
function image(mebibytes: number): string {
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const content = Buffer.concat([signature, randomBytes(mebibytes * 1_048_576 - signature.length)]);
  return `data:image/png;base64,${content.toString("base64")}`;
}

function turnWith(data_url: string): string {
  const input = [
    { type: "text", text: "q" },
    { type: "image", data_url },
  ];
  return JSON.stringify({ request_id: "none", executor: "none", input });
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

/** What a figure is compared with, in milliseconds. */
interface Yardstick {
  readonly eachMs: number;
  readonly name: string;
  readonly target?: string;
}

function targetOf(): Yardstick {
  return { eachMs: TARGET_MS, name: `${TARGET_MS} ms`, target: "<= 1" };
}

/** A program that only decodes and parses the same bytes. */
function parsedAlone({ body }: Hostile): Yardstick {
  const bytes = Buffer.from(body);
  const parse = (): unknown => JSON.parse(bytes.toString("latin1"));
  for (let time = 0; time < TIMES; time += 1) parse();
  const before = process.cpuUsage();
  for (let time = 0; time < TIMES; time += 1) parse();
  const { user, system } = process.cpuUsage(before);
  const eachMs = (user + system) / 1_000 / TIMES;
  return { eachMs, name: `${eachMs.toFixed(1)} ms only JSON.parse` };
}

async function measureAll(
  asked: Asked,
  bodies: readonly Hostile[],
  yardstickOf: (hostile: Hostile) => Yardstick,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const hostile of bodies) {
    for (let time = 0; time < TIMES; time += 1) await send(asked, hostile);
    const before = cpuSeconds(asked.pid);
    for (let time = 0; time < TIMES; time += 1) await send(asked, hostile);
    const each = (1_000 * (cpuSeconds(asked.pid) - before)) / TIMES;
    const { eachMs, name, target } = yardstickOf(hostile);
    figures.push({
      measure: `${asked.of}${hostile.what}, processor time`,
      turnd: `${each.toFixed(1)} ms`,
      yardstick: name,
      ratio: each / eachMs,
      ...(target === undefined ? {} : { target }),
    });
  }
  return figures;
}

/** Each is refused for what it is made of: one that a limit refuses, or that is taken, measures nothing. */
async function send(
  { url, headers }: Asked,
  { path, body, type = "application/json", what, status = 422 }: Hostile,
): Promise<void> {
  const answer = await request(`${url}${path}`, {
    method: "POST",
    headers: { ...headers, "content-type": type },
    body,
  });
  const text = await answer.body.text();
  if (answer.statusCode !== status) throw new Error(`${what}: ${answer.statusCode} ${text.slice(0, 300)}`);
}
