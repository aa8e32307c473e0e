import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Writable } from "node:stream";
import { z } from "zod";
import type { TurnEndedData } from "../protocol/index.ts";
import { findExecutor } from "./executors/registry.ts";
import { openRecording, RecordingError } from "./replay/recording.ts";
import { replayRecording } from "./turns/replay.ts";

export interface PrintOptions {
  /** One line a recording instead of its events. */
  readonly isSummary: boolean;
  readonly redact: (line: string) => string;
  readonly out: Writable;
  readonly err: Writable;
}

/** `expected.json` of a labelled recording, as far as the summary compares it. */
const Label = z.object({ status: z.string(), code: z.string().nullable(), also: z.array(z.string()).default([]) });

const MAX_LINE_BYTES = 16_777_216;

/**
 * Prints recordings: their unified events as JSON lines, or a summary line each and the accuracy against their labels.
 *
 * @returns 0, or 1 when a directory could not be replayed
 */
export async function printReplays(directories: readonly string[], options: PrintOptions): Promise<0 | 1> {
  let hasFault = false;
  const score = { labelled: 0, status: 0, code: 0 };
  for (const directory of directories) {
    try {
      const ended = await replayOne(directory, options);
      if (options.isSummary) await summarise(directory, ended, score, options);
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      hasFault = true;
      options.err.write(`turnd: ${error.message}\n`);
    }
  }
  if (options.isSummary && score.labelled > 0) {
    const share = (count: number): string => `${count}/${score.labelled} (${percent(count, score.labelled)})`;
    await write(options.out, `labelled: status ${share(score.status)}, code ${share(score.code)}\n`);
  }
  return hasFault ? 1 : 0;
}

async function replayOne(directory: string, options: PrintOptions): Promise<TurnEndedData> {
  const recording = await openRecording(directory);
  const executor = findExecutor(recording.turn.executor);
  if (executor === undefined) throw new RecordingError(directory, `no executor ${recording.turn.executor}`);
  return replayRecording(recording, {
    executor,
    maxLineBytes: MAX_LINE_BYTES,
    now: () => new Date(),
    redact: options.redact,
    keepsOrder: true,
    write: (lines) => (options.isSummary ? Promise.resolve() : write(options.out, lines)),
  });
}

async function summarise(
  directory: string,
  ended: TurnEndedData,
  score: { labelled: number; status: number; code: number },
  { out }: PrintOptions,
): Promise<void> {
  const code = ended.failure?.code ?? null;
  const label = await readLabel(directory);
  let verdict = "";
  if (label !== undefined) {
    const isStatus = label.status === ended.status;
    const isCode = label.code === code || (code !== null && label.also.includes(code));
    score.labelled += 1;
    score.status += Number(isStatus);
    score.code += Number(isCode);
    verdict = isStatus && isCode ? "  as labelled" : `  labelled ${label.status} ${label.code ?? "-"}`;
  }
  const { events, records, unknown, tools, retries } = ended.counts;
  const counts = `events=${events} records=${records} unknown=${unknown} tools=${tools} retries=${retries}`;
  await write(out, `${directory}  ${ended.status} ${code ?? "-"}  ${counts}${verdict}\n`);
}

async function readLabel(directory: string): Promise<z.infer<typeof Label> | undefined> {
  const text = await readFile(join(directory, "expected.json"), "utf8").catch(() => undefined);
  return text === undefined ? undefined : Label.parse(JSON.parse(text));
}

/** Resolves when the stream has taken the bytes: their memory is used again, and nothing piles up. */
function write(out: Writable, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    out.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function percent(count: number, of: number): string {
  return `${((100 * count) / of).toFixed(1)} %`;
}
