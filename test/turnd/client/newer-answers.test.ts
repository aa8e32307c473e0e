import { expect, test } from "vitest";
import { z } from "zod";
import { parseEvent } from "../../../src/turnd/client/parse-event.ts";
import { parseTolerant } from "../../../src/turnd/client/tolerant.ts";
import { LoggedEvent, SessionList, TimelineEntry } from "../../../src/turnd/protocol/index.ts";
import { examplesOf, OPERATIONS, schemaOf, SHARED_EXAMPLES } from "../../harness/described-bodies.ts";

type Path = readonly PropertyKey[];
const WORD = "brandnew";
const Container = z.record(z.union([z.string(), z.number()]), z.unknown());

/** Where the objects and the texts of a body are. */
function placesIn(value: unknown, at: Path = []): { objects: Path[]; texts: Path[] } {
  if (typeof value === "string") return { objects: [], texts: [at] };
  if (typeof value !== "object" || value === null) return { objects: [], texts: [] };
  const entries: [PropertyKey, unknown][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  const inner = entries.map(([key, each]) => placesIn(each, [...at, key]));
  return {
    objects: [...(Array.isArray(value) ? [] : [at]), ...inner.flatMap(({ objects }) => objects)],
    texts: inner.flatMap(({ texts }) => texts),
  };
}

function withAt(body: unknown, path: Path, put: unknown): unknown {
  const copy: unknown = structuredClone({ body });
  const [last, ...way] = ["body", ...path].toReversed();
  const parent = way.toReversed().reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), copy);
  Reflect.set(Object(parent), last ?? "", put);
  return Container.parse(copy)["body"];
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => Reflect.get(Object(inner), key), value);
}

/** A place that takes words of a list alone, and is no field that tells shapes apart. */
function isClosed(schema: z.ZodType, changed: unknown): boolean {
  return schema.safeParse(changed).error?.issues.every(({ code }) => code === "invalid_value") === true;
}

/** Every example of an answer that a client parses. */
function answers(): { what: string; schema: z.ZodType; example: unknown }[] {
  return OPERATIONS.flatMap(({ route, responses }) =>
    Object.entries(responses).flatMap(([status, { content }]) =>
      Object.entries(content ?? {}).flatMap(([type, media]) =>
        type.endsWith("json") && media.schema !== undefined
          ? examplesOf(media).map((example) => {
              const schemas = (media.schema?.anyOf ?? [media.schema ?? {}]).map(schemaOf);
              const schema = schemas.find((each) => each.safeParse(example).success) ?? z.never();
              return { what: `${route}: ${status}`, schema, example };
            })
          : [],
      ),
    ),
  );
}

test("any answer may have a new field anywhere, and a new word in the place of any that a list has", () => {
  const faults: string[] = [];
  let words = 0;
  for (const { what, schema, example } of answers()) {
    const { objects, texts } = placesIn(example);
    for (const path of objects) {
      const read = parseTolerant(schema, withAt(example, [...path, "brand_new"], { deep: [1] }));
      if (!read.success) faults.push(`${what}: a new field of ${path.join(".")}`);
    }
    for (const path of texts) {
      const changed = withAt(example, path, WORD);
      if (!isClosed(schema, changed)) continue;
      words += 1;
      const read = parseTolerant(schema, changed);
      if (!read.success || valueAt(read.data, path) !== WORD) faults.push(`${what}: a new word at ${path.join(".")}`);
    }
  }
  expect(faults).toEqual([]);
  expect(words).toBeGreaterThan(100);
});

test("so may any event", () => {
  const faults: string[] = [];
  let words = 0;
  for (const [name, { value }] of Object.entries(SHARED_EXAMPLES)) {
    const event = LoggedEvent.safeParse(value);
    if (!event.success) continue;
    const isRead = (changed: unknown): boolean =>
      parseEvent({ line: JSON.stringify(changed) }, event.data.seq).type === event.data.type;
    const withSource = { ...event.data, native: { line: 1, source: "stderr" } };
    const { objects, texts } = placesIn(withSource);
    for (const path of objects)
      if (!isRead(withAt(withSource, [...path, "brand_new"], 1)))
        faults.push(`${name}: a new field of ${path.join(".")}`);
    for (const path of texts) {
      const changed = withAt(withSource, path, WORD);
      if (!isClosed(LoggedEvent, changed)) continue;
      words += 1;
      if (!isRead(changed)) faults.push(`${name}: a new word at ${path.join(".")}`);
    }
  }
  expect(faults).toEqual([]);
  expect(words).toBeGreaterThan(20);
  const all = { type: "brand.new", v: 1, seq: 1, at: "x", turn_id: "t", session_id: "s", executor: "e", data: {} };
  const line = JSON.stringify({ ...all, native: { line: 1, source: WORD } });
  expect(parseEvent({ line }, 1)).toMatchObject({ type: "unknown", native: { source: WORD } });
});

test("a session with a server of a new type is read without it, also in a list", () => {
  const session = {
    session_id: "session-1",
    executor: "cli-b",
    workspace: "/workspace",
    turns: [],
    permissions: { edit: "ask" },
    created_at: "2026-01-01T00:00:00.000Z",
    mcp_servers: { kb: { type: "http", url: "http://127.0.0.1/mcp" }, later: { type: "websocket", url: "ws://x" } },
  };
  const { later: _later, ...known } = session.mcp_servers;
  expect(parseTolerant(SessionList, { sessions: [session, { ...session, mcp_servers: known }] })).toEqual({
    success: true,
    data: { sessions: [1, 2].map(() => ({ ...session, mcp_servers: known })) },
  });
  const entry = { at: "2026-01-01T00:00:00.000Z" };
  const timeline = [
    { type: "started", ...entry },
    { type: "brandnew", ...entry },
  ];
  expect(parseTolerant(z.array(TimelineEntry), timeline).success).toBe(false);
});
