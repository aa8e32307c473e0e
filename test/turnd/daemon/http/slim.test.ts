import fc from "fast-check";
import { expect, test } from "vitest";
import { SlimEvent } from "../../../../src/turnd/protocol/index.ts";
import { slimLine } from "../../../../src/turnd/daemon/http/streaming/slim.ts";
import { frameSse } from "../../../../src/turnd/daemon/http/streaming/sse.ts";
import { logLine } from "./fake-service.ts";

const MAX_FRAME_BYTES = 65_536;

function slim(event: Record<string, unknown>): { event: SlimEvent; frame: Buffer } {
  const line = slimLine(logLine("turn-1", 7, event));
  const frame = frameSse([line]).bytes;
  expect(frame.length).toBeLessThanOrEqual(MAX_FRAME_BYTES);
  const text = new TextDecoder("utf-8", { fatal: true }).decode(line.bytes);
  return { event: SlimEvent.parse(JSON.parse(text)), frame };
}

test("an event without long fields keeps all but native", () => {
  const data = { message_id: "m", text: "héllo 😀", final: true };
  const { event } = slim({ type: "message", native: { line: 3 }, data });
  expect(event.data).toEqual(data);
  expect(event).not.toHaveProperty("native");
  expect(event.truncated).toBeUndefined();
});

test("a long text is cut between characters and named with the length it had", () => {
  for (const character of ["a", "é", "漢", "😀"]) {
    const text = character.repeat(300_000);
    const { event } = slim({ type: "message", data: { message_id: "m", text } });
    const cut = String(event.data["text"]);
    expect(text.startsWith(cut)).toBe(true);
    expect(cut.replaceAll(character, "")).toBe("");
    expect(Buffer.byteLength(cut)).toBeGreaterThan(16_000);
    expect(event.truncated).toEqual([{ field: "data.text", bytes: Buffer.byteLength(text) }]);
  }
});

test("text that grows when encoded still fits", () => {
  const { event } = slim({ type: "record.unknown", data: { reason: "not_json", line: "\u0001".repeat(100_000) } });
  expect(event.truncated).toEqual([{ field: "data.line", bytes: 100_000 }]);
});

test("long texts inside an event are cut where they stand", () => {
  const output = { text: "x".repeat(500_000), bytes: 500_000, truncated: false };
  const changes = [{ path: "a", change: "add", diff: "y".repeat(50_000) }];
  const { event } = slim({ type: "tool.ended", data: { tool_call_id: "t", output, changes } });
  expect(event.truncated?.map(({ field }) => field)).toEqual(["data.output.text", "data.changes.0.diff"]);
  expect(event.data["tool_call_id"]).toBe("t");
});

test("many long texts, long lists, long keys and deep input fit as well", () => {
  const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, index) => [`key${index}`, "v".repeat(900)]));
  slim({ type: "tool.started", data: { tool_call_id: "t", input: many } });
  slim({ type: "tool.started", data: { tool_call_id: "t", input: Array(200_000).fill(123_456_789) } });
  slim({ type: "tool.started", data: { tool_call_id: "t", input: { ["k".repeat(200_000)]: 1 } } });
  let deep: unknown = "bottom";
  for (let level = 0; level < 500; level += 1) deep = [deep, deep === "bottom" ? 1 : "side"];
  const { event } = slim({ type: "tool.started", data: { tool_call_id: "t", input: deep } });
  expect(event.truncated).toHaveLength(1);
});

test("the end of a turn keeps what proves it, however long its output", () => {
  const data = { status: "completed", output: "\u0000".repeat(400_000), digest: "0".repeat(64), counts: { events: 9 } };
  const { event } = slim({ type: "turn.ended", data });
  expect(event.data).toMatchObject({ status: "completed", digest: data.digest, counts: { events: 9 } });
});

test("frames of every size around the bound keep to it", () => {
  for (let length = 15_500; length <= 16_384; length += 1) {
    const entries = Array.from({ length: 4 }, () => ({ content: "x".repeat(length), status: "pending" }));
    slim({ type: "plan.updated", data: { entries } });
  }
});

test("whatever the data, the frame is valid and bounded", () => {
  const value = fc.anything({ maxDepth: 5, maxKeys: 20 });
  fc.assert(
    fc.property(value, fc.string({ unit: "binary" }), fc.integer({ min: 1, max: 40_000 }), (input, text, times) => {
      const json: unknown = JSON.parse(JSON.stringify({ input }) ?? "{}");
      slim({ type: "tool.started", data: { tool_call_id: text.repeat(times), ...Object(json) } });
    }),
    { numRuns: 60 },
  );
});
