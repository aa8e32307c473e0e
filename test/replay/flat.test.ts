import { rename } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { MAX_PEAK_BYTES, peakOf } from "../../scripts/measure/bench/peak-memory.ts";
import { makeRecording, type Recorded } from "../../scripts/measure/bench/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

/** A recording that is larger than the memory it may take: what were kept of it would show. */
async function makeLong(executor: Recorded): Promise<string> {
  const recording = join(temporaryDirectory(onTestFinished), "recording");
  await makeRecording(executor, recording, 160_000_000);
  return recording;
}

test("a recording larger than the memory allowed is replayed within it, from source", async () => {
  const recording = await makeLong("cli-b");
  const turnd = join(REPOSITORY, "src/daemon/main.ts");
  expect(await peakOf([turnd, "replay", recording])).toBeLessThan(MAX_PEAK_BYTES);
});

test("so is one that is replayed in the order of its events, by what the image runs", async () => {
  const recording = await makeLong("cli-a");
  const events = `${recording}.events`;
  const turnd = inject("turnd");
  await execa(process.execPath, [turnd, "replay", recording], { stdout: { file: events }, buffer: false });
  await rename(events, join(recording, "events.jsonl"));
  expect(await peakOf([turnd, "replay", recording])).toBeLessThan(MAX_PEAK_BYTES);
});
