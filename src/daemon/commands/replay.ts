import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { z } from "zod";
import type { Decision, TurnEndedData } from "../../protocol/index.ts";
import { createDriftCount, type DriftCount } from "./drift-report.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { RecordingError } from "../replay/recording-error.ts";
import { readJson, type Recording } from "../replay/recording.ts";
import { openSource } from "../replay/source.ts";
import { formatExplanation } from "./replay-explain.ts";
import { redactTurns } from "../turns/store/read-turn-secrets.ts";
import { replayRecording } from "../turns/replay/replay.ts";
import type { Redact } from "../event-log/redact.ts";

export interface PrintOptions {
  /** A recording's events, one line about it, or how its end was decided. */
  readonly show: "events" | "summary" | "decision";
  readonly redact: Redact;
  /** The CLIs whose recordings can be replayed. */
  readonly executors: readonly Executor[];
  /** The name of what `-` stands for. */
  readonly stdin: Readable;
  readonly out: Writable;
  readonly err: Writable;
}

/** `expected.json` of a labelled recording, as far as the summary compares it. */
const Label = z.object({ status: z.string(), code: z.string().nullable(), also: z.array(z.string()).default([]) });

const MAX_LINE_BYTES = 16_777_216;

/**
 * Prints recordings: their unified events as JSON lines, a summary line each with the accuracy against their labels and
 * what they contain that turnd does not know, or how the end of each was decided.
 *
 * @param directories - or documents, or `-` for one on standard input
 * @returns 0, or 1 when one could not be replayed
 */
export async function printReplays(directories: readonly string[], options: PrintOptions): Promise<0 | 1> {
  let hasFault = false;
  const score = { labelled: 0, status: 0, code: 0 };
  const drift = createDriftCount();
  for (const directory of directories) {
    try {
      const ended = await replayOne(directory, drift, options);
      if (options.show === "summary") await summarise(directory, ended, score, options);
    } catch (error) {
      if (!(error instanceof RecordingError)) throw error;
      hasFault = true;
      options.err.write(`turnd: ${error.message}\n`);
    }
  }
  if (options.show === "summary" && score.labelled > 0) {
    const share = (count: number): string => `${count}/${score.labelled} (${percent(count, score.labelled)})`;
    await write(options.out, `labelled: status ${share(score.status)}, code ${share(score.code)}\n`);
  }
  if (options.show === "summary") await write(options.out, drift.format(options.redact));
  return hasFault ? 1 : 0;
}

async function replayOne(name: string, drift: DriftCount, options: PrintOptions): Promise<TurnEndedData> {
  const { recording, close } = await openSource(name, options.stdin);
  try {
    return await replayOpened(name, recording, drift, options);
  } finally {
    await close();
  }
}

async function replayOpened(
  directory: string,
  recording: Recording,
  drift: DriftCount,
  options: PrintOptions,
): Promise<TurnEndedData> {
  const executor = options.executors.find(({ id }) => id === recording.turn.executor);
  if (executor === undefined) {
    const known = options.executors.map(({ id }) => id).join(", ");
    throw new RecordingError(directory, `is of ${recording.turn.executor}; this turnd knows ${known}`);
  }
  const redact = await redactTurns(options.redact, [recording.directory]);
  let decision: Decision | undefined;
  const ended = await replayRecording(recording, {
    executor,
    maxLineBytes: MAX_LINE_BYTES,
    now: () => new Date(),
    redact,
    keepsOrder: true,
    ...(options.show === "summary" ? { drift: drift.watch(executor, recording.turn.cli_version, directory) } : {}),
    write: (lines) => (options.show === "events" ? write(options.out, lines) : Promise.resolve()),
    ...(options.show === "decision" ? { explain: (made: Decision) => void (decision = made) } : {}),
  });
  if (decision !== undefined) await write(options.out, redact(formatExplanation(directory, ended, decision)));
  return ended;
}

async function summarise(
  directory: string,
  ended: TurnEndedData,
  score: { labelled: number; status: number; code: number },
  { out }: PrintOptions,
): Promise<void> {
  const code = ended.failure?.code ?? null;
  const label = await readJson(join(directory, "expected.json"), Label);
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

/** Whether the reader of the output has gone, such as `head`: no fault, and nothing more to do. */
export function isReaderGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

/** Resolves when the stream has accepted the bytes: their memory is used again. */
function write(out: Writable, text: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    out.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

function percent(count: number, of: number): string {
  return `${((100 * count) / of).toFixed(1)} %`;
}
