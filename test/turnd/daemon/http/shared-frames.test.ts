import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { LoggedLine } from "../../../../src/turnd/daemon/event-log/logged-lines.ts";
import { shareFrames } from "../../../../src/turnd/daemon/http/streaming/shared-frames.ts";
import { frameSse } from "../../../../src/turnd/daemon/http/streaming/sse.ts";
import { waitFor } from "../../../harness/wait-for.ts";

/** A line that lies in so much memory. */
const oneLine = (memoryBytes: number): readonly LoggedLine[] => [
  { seq: 1, type: "message", bytes: Buffer.alloc(memoryBytes, "x").subarray(0, 10) },
];

test("a batch is framed once for all who are sent it one after the other", () => {
  let made = 0;
  const frame = shareFrames((lines) => {
    made += 1;
    return frameSse(lines);
  });
  const [batch, next] = [oneLine(10), oneLine(10)];
  expect(frame(batch)).toBe(frame(batch));
  expect(made).toBe(1);
  expect(frame(next)).not.toBe(frame(batch));
  expect(made).toBe(3);
});

test("the memory that the lines of a batch lie in is freed when the batch has been sent", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  frameSse(oneLine(67_108_864));
  await waitFor("the memory to be free", () => {
    collect();
    return process.memoryUsage().arrayBuffers < 67_108_864;
  });
});
