import { readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import {
  CliName,
  Exit,
  FailureCode,
  Mode,
  TakenInput,
  Transport,
  TurnEndedBy,
  Usage,
  type RecordedTurn,
} from "../../protocol/index.ts";
import { describeIssues, RecordingError } from "./recording-error.ts";
import { readTimeline, type Timeline } from "./timeline.ts";
import { describeFault } from "../storage/describe-fault.ts";

/** The one version there is, of `turn.json` and of documents. */
export const RecordingVersion = z.literal(1, {
  error: ({ input }) => `is ${JSON.stringify(input)}, written by a newer turnd; this one reads 1`,
});

/**
 * `turn.json` of a recording: what replay reads of it. A turn's own directory has it all. Looser than the document's
 * `RecordedTurn`, which clients send: this one was written by turnd or by a person beside it. Source: docs/replaying.md.
 */
const RecordingFile = z.object({
  v: RecordingVersion.optional(),
  executor: CliName,
  cli_name: z.string().optional(),
  cli_version: z.string().optional(),
  args: z.array(z.string()).optional(),
  mode: Mode.default("execute"),
  transport: Transport.optional(),
  model: z.string().optional(),
  requested_session: z.string().nullable().default(null),
  ended_by: TurnEndedBy.nullable().default(null),
  output_alone: z.literal(true).optional(),
  usage_before: Usage.optional(),
  provider_fault: z.string().optional(),
  degraded: z.object({ requested: z.string(), reason: z.string() }).optional(),
  halted: z.object({ code: FailureCode, message: z.string(), remedy: z.string().optional() }).optional(),
  taken: TakenInput.optional(),
  turn_id: z.string().optional(),
  session_id: z.string().optional(),
  trace_id: z.string().optional(),
  traceparent: z.string().optional(),
  created_at: z.iso.datetime().optional(),
  started_at: z.iso.datetime().optional(),
  note: z.string().optional(),
  /** Of a turn that is a replay itself. */
  replay: z.object({ is_played: z.boolean() }).optional(),
});

/** A recorded run: how it was started and ended, and where its output is. */
export interface Recording {
  readonly directory: string;
  readonly turn: z.output<typeof RecordingFile>;
  /** null when the process's end was not observed. */
  readonly exit: Exit | null;
  /** True for output without anything else: how the process ended is not known, and nothing was there to record it. */
  readonly isExitUnrecorded?: boolean;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** What was taken when; undefined where that is unknown, and then stdout comes before stderr. */
  readonly timeline: Timeline | undefined;
}

/**
 * Opens a recording directory. Only its small files are read.
 *
 * @throws {RecordingError} if `turn.json` is missing or wrong, `exit.json` is not what it should be, or one of its files is
 * no regular file
 */
export async function openRecording(directory: string): Promise<Recording> {
  const turn = await readJson(join(directory, "turn.json"), RecordingFile);
  if (turn === undefined) throw new RecordingError(directory, "is no recording: it has no turn.json");
  const exit = await readExit(directory);
  const [stdoutPath, stderrPath] = [join(directory, "stdout.jsonl"), join(directory, "stderr.log")];
  for (const path of [stderrPath, join(directory, "events.jsonl")]) await isThere(path);
  if (!(await isThere(stdoutPath)) && hasRun(turn)) {
    throw new RecordingError(directory, "has no stdout.jsonl, so there is nothing to replay");
  }
  return {
    directory,
    turn,
    exit,
    isExitUnrecorded: turn.output_alone === true && exit === null,
    stdoutPath,
    stderrPath,
    timeline: await readTimeline(directory, { isPlayed: turn.replay?.is_played === true }),
  };
}

/** How the process of a recording directory ended; null where that was not recorded. */
export async function readExit(directory: string): Promise<Exit | null> {
  return (await readJson(join(directory, "exit.json"), z.object(Exit.shape))) ?? null;
}

/**
 * Output alone as a recording: an execution turn of a fresh session that nothing but the CLI ended.
 *
 * @param name - what its events' ids are made of
 * @param stderrPath - absent where only stdout is there
 * @param exit - absent where it is not known
 */
export function toRecording(output: {
  readonly name: string;
  readonly executor: CliName;
  readonly stdoutPath: string;
  readonly stderrPath?: string;
  readonly exit?: Exit;
}): Recording {
  const { name, executor, stdoutPath, stderrPath = "/dev/null", exit } = output;
  return {
    directory: name,
    turn: { executor, mode: "execute", requested_session: null, ended_by: null },
    exit: exit ?? null,
    isExitUnrecorded: exit === undefined,
    stdoutPath,
    stderrPath,
    timeline: undefined,
  };
}

/** Ids for the events of a recording that has none of its own, from the name of its directory. */
export function idsOf({ directory, turn }: Recording): { turnId: string; sessionId: string } {
  const name = basename(directory).replaceAll(/[^A-Za-z0-9._:-]/g, "-");
  return { turnId: turn.turn_id ?? `replay.${name}`, sessionId: turn.session_id ?? `session.${name}` };
}

/** Whether a process ever ran: a turn that was cancelled in line, or refused by the sandbox, was only admitted. */
export function hasRun(turn: Pick<RecordedTurn, "created_at" | "started_at">): boolean {
  return turn.created_at === undefined || turn.started_at !== undefined;
}

/** The caller's text, without a history that was put before it; undefined where a recording has none. */
export async function readRecordedInput(directory: string): Promise<string | undefined> {
  return (await readIfThere(join(directory, "input.txt"))) ?? readIfThere(join(directory, "prompt.txt"));
}

/**
 * Reads one of a recording's small files; undefined when it is not there.
 *
 * @throws {RecordingError} if it is no file, not JSON, or of another shape
 */
export async function readJson<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T> | undefined> {
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RecordingError(path, `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new RecordingError(path, describeIssues(parsed.error));
  return parsed.data;
}

async function readIfThere(path: string): Promise<string | undefined> {
  return (await isThere(path)) ? readFile(path, "utf8") : undefined;
}

/** Refuses what is no file: a pipe, for one, would be waited for without end. */
export async function isThere(path: string): Promise<boolean> {
  let found;
  try {
    found = await stat(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR"))
      return false;
    throw new RecordingError(path, describeFault(error));
  }
  if (!found.isFile()) throw new RecordingError(path, "is not a regular file");
  return true;
}
