import { stat } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import type { Figure } from "./figures.ts";
import { makeRecording, type Recorded } from "./recordings.ts";
import { bundleTurnd } from "./stage.ts";

/** The most that a replay may hold, however long the recording is. */
export const MAX_PEAK_BYTES = 150_000_000;

const REPORTER = join(import.meta.dirname, "report-peak.mjs");

/** The most memory `turnd replay` ever holds, as the image runs it, beside a Node that does nothing. */
export async function benchPeakMemory(executor: Recorded, directory: string, sizeBytes: number): Promise<Figure> {
  const recording = join(directory, executor);
  await makeRecording(executor, recording, sizeBytes);
  const { size } = await stat(join(recording, "stdout.jsonl"));
  const ours = await peakOf([await bundleTurnd(directory), "replay", recording]);
  const bare = await peakOf(["-e", "0"]);
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  return {
    measure: `replay ${executor}, ${megabytes(size)}, peak resident memory`,
    turnd: megabytes(ours),
    yardstick: `${megabytes(bare)} node -e 0`,
    ratio: ours / bare,
    target: `<= ${megabytes(MAX_PEAK_BYTES)}`,
  };
}

/** Runs node to its end and gives the most bytes it held. */
export async function peakOf(args: readonly string[]): Promise<number> {
  const { stderr } = await execa(process.execPath, ["--import", REPORTER, ...args], {
    stdin: "ignore",
    stdout: "ignore",
  });
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(stderr) ?? [];
  if (kilobytes === undefined) throw new Error(`no peak was reported, but: ${stderr}`);
  return Number(kilobytes) * 1024;
}
