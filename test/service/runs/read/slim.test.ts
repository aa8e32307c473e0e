import { expect, test } from "vitest";
import type { RunEvent } from "../../../../src/service/protocol/events.ts";
import { slim } from "../../../../src/service/runs/read/slim.ts";

const event = (type: RunEvent["event"], payload: Record<string, unknown>): RunEvent => ({
  schema_version: 1,
  seq: 3,
  run_id: "r",
  thread_id: "t",
  request_id: "q",
  event: type,
  created_at: "2026-01-01T00:00:00.000Z",
  payload,
  native: { turn_seq: 2 },
});

test("a slim event keeps its number and leaves out what only debugging needs", () => {
  expect(slim(event("messages", { items: [] }))).toEqual({ ...event("messages", { items: [] }), native: undefined });
  expect(
    slim(
      event("metadata", { run_type: "chat", source: "chat", agent_slug: "a", executor: "cli-a", manifest_digest: "x" }),
    ).payload,
  ).toEqual({ run_type: "chat", source: "chat", agent_slug: "a" });
  for (const name of ["svc.step", "svc.attempt", "svc.unknown_record"])
    expect(slim(event("custom", { name, line: "x" })).payload).toEqual({ name });
  expect(slim(event("custom", { name: "svc.usage", usage: 1 })).payload).toEqual({ name: "svc.usage", usage: 1 });
  expect(slim(event("error", { error_type: "x", evidence: [1] })).payload).toEqual({ error_type: "x" });
});

test("long strings are cut at a character, and named", () => {
  const content = `${"x".repeat(16_383)}é and more`;
  const { payload, truncated } = slim(event("messages", { items: [{ type: "message", content }] }));
  expect(truncated).toEqual(["items.0.content"]);
  expect(payload).toEqual({ items: [{ type: "message", content: "x".repeat(16_383) }] });
  const exact = event("messages", { items: [{ content: "é".repeat(8_192) }] });
  expect(slim(exact)).not.toHaveProperty("truncated");
});
