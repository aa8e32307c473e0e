import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";
import { CliName, Exit, Mode, Usage } from "../../protocol/index.ts";

/** `turn.json` of a recording: what replay reads of it. A turn's own directory has it all. Source: DESIGN section 8. */
const RecordingFile = z.object({
  v: z.literal(1, "was written by a newer turnd").optional(),
  executor: CliName,
  cli_name: z.string().optional(),
  cli_version: z.string().optional(),
  args: z.array(z.string()).optional(),
  mode: Mode.default("execute"),
  model: z.string().optional(),
  requested_session: z.string().nullable().default(null),
  ended_by: z.string().nullable().default(null),
  usage_before: Usage.optional(),
  degraded: z.object({ requested: z.string(), reason: z.string() }).optional(),
  turn_id: z.string().optional(),
  session_id: z.string().optional(),
  trace_id: z.string().optional(),
  note: z.string().optional(),
});

/** A recorded run: how it was started and ended, and where its output is. */
export interface Recording {
  readonly directory: string;
  readonly turn: z.output<typeof RecordingFile>;
  /** null when nobody saw the process end. */
  readonly exit: Exit | null;
  readonly stdoutPath: string;
  readonly stderrPath: string;
  /** Its events, where it has any: the order in which lines were taken. */
  readonly eventsPath: string;
}

/** A directory that cannot be replayed; the message says which file is wrong and how. */
export class RecordingError extends Error {
  constructor(path: string, reason: string) {
    super(`${path}: ${reason}`);
    this.name = "RecordingError";
  }
}

/**
 * Opens a recording directory. Only its small files are read.
 *
 * @throws {RecordingError} if `turn.json` is missing or wrong, or `exit.json` is not what it should be
 */
export async function openRecording(directory: string): Promise<Recording> {
  const turn = await readJson(join(directory, "turn.json"), RecordingFile);
  if (turn === undefined) throw new RecordingError(directory, "is no recording: it has no turn.json");
  const exit = await readJson(join(directory, "exit.json"), z.object(Exit.shape));
  return {
    directory,
    turn,
    exit: exit ?? null,
    stdoutPath: join(directory, "stdout.jsonl"),
    stderrPath: join(directory, "stderr.log"),
    eventsPath: join(directory, "events.jsonl"),
  };
}

/** Ids for the events of a recording that has none of its own, from the name of its directory. */
export function idsOf({ directory, turn }: Recording): { turnId: string; sessionId: string } {
  const name = basename(directory).replaceAll(/[^A-Za-z0-9._:-]/g, "-");
  return { turnId: turn.turn_id ?? `replay.${name}`, sessionId: turn.session_id ?? `session.${name}` };
}

async function readJson<T extends z.ZodType>(path: string, schema: T): Promise<z.output<T> | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new RecordingError(path, error instanceof Error ? error.message : String(error));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new RecordingError(path, `is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) throw new RecordingError(path, z.prettifyError(parsed.error).replaceAll("\n", " "));
  return parsed.data;
}
