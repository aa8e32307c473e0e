import { expect, test } from "vitest";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { createSequence } from "../../../../src/turnd/daemon/event-log/sequence.ts";
import { splitLine } from "../../../../src/turnd/daemon/event-log/split-line.ts";

/** Texts that look like the end of a head, in every place where a CLI's own words stand. */
const HOSTILE = '","data":{"x":1},"data":{}}';

test("a logged line is divided before its data, whatever the words of a CLI look like", () => {
  const sequence = createSequence({
    turnId: "turn-1",
    sessionId: "session-1",
    executor: "cli-a",
    now: () => "2026-11-21T08:00:00.000Z",
    redact: createRedactor([]),
  });
  const native = { line: 7, type: HOSTILE, id: HOSTILE };
  const data = { message_id: HOSTILE, text: HOSTILE };
  const line = sequence
    .render([{ type: "message", data, native }])
    .toString()
    .trimEnd();
  const split = splitLine(line);
  expect(split?.head).toEqual({ ...JSON.parse(line), data: undefined });
  expect(split?.data).toBe(JSON.stringify(data));
});

test.each(["", "{", '{"v":1}', '{"data":{},"type":"message"}', 'x,"data":{}}'])("%j is not divided", (text) => {
  expect(splitLine(text)).toBeUndefined();
});
