import { rename } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { bundleTurnd, MAX_PEAK_BYTES, peakOf } from "../../scripts/bench/peak-memory.ts";
import { makeRecording } from "../../scripts/bench/recordings.ts";
import type { CliName } from "../../src/protocol/index.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** A program and a recording that is larger than the memory it may take: what were kept of it would show. */
async function prepare(executor: CliName): Promise<{ turnd: string; recording: string }> {
  const directory = temporaryDirectory(onTestFinished);
  const recording = join(directory, "recording");
  await makeRecording(executor, recording, 160_000_000);
  return { turnd: await bundleTurnd(directory), recording };
}

test("a recording larger than the memory allowed is replayed within it", { timeout: 300_000 }, async () => {
  const { turnd, recording } = await prepare("cli-b");
  expect(await peakOf([turnd, "replay", recording])).toBeLessThan(MAX_PEAK_BYTES);
});

test("so is one that is replayed in the order of its events", { timeout: 300_000 }, async () => {
  const { turnd, recording } = await prepare("cli-a");
  const events = `${recording}.events`;
  await execa(process.execPath, [turnd, "replay", recording], { stdout: { file: events }, buffer: false });
  await rename(events, join(recording, "events.jsonl"));
  expect(await peakOf([turnd, "replay", recording])).toBeLessThan(MAX_PEAK_BYTES);
});
