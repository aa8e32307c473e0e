import { rename } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { MAX_PEAK_BYTES, peakOf } from "../../../../lab/bench/peak-memory.ts";
import { makeRecording, type Recorded } from "../../../../lab/bench/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

/** A recording that is larger than the memory it may take: what were kept of it would show. */
async function makeLong(executor: Recorded, sizeBytes: number): Promise<string> {
  const recording = join(temporaryDirectory(onTestFinished), "recording");
  await makeRecording(executor, recording, sizeBytes);
  return recording;
}

test("from source a long recording takes little more memory than a short one, whose replay is but Node and its compiler", async () => {
  const turnd = join(REPOSITORY, "src/turnd/main.ts");
  const short = await peakOf([turnd, "replay", join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited")]);
  const long = await peakOf([turnd, "replay", await makeLong("cli-b", 80_000_000)]);
  expect(long - short).toBeLessThan(MAX_PEAK_BYTES / 3);
});

test("a recording larger than the memory allowed is replayed within it, in the order of its events, by what the image runs", async () => {
  const recording = await makeLong("cli-a", 160_000_000);
  const events = `${recording}.events`;
  const turnd = inject("turnd");
  await execa(process.execPath, [turnd, "replay", recording], { stdout: { file: events }, buffer: false });
  await rename(events, join(recording, "events.jsonl"));
  expect(await peakOf([turnd, "replay", recording])).toBeLessThan(MAX_PEAK_BYTES);
});
