import * as z from "zod";
import type { ReplayRequestBody } from "../../client/turnd-client.ts";
import { Exit } from "../../protocol/event-data.ts";
import { RecordedTurn, RecordingDocument, type TimelineEntry } from "../../protocol/recordings.ts";
import type { GivenFile } from "./collect-files.ts";
import { readTimeline, timelineOfEvents } from "./read-timeline.ts";

type Recording = ReplayRequestBody["recording"];

/** What identifies output without a `turn.json`. */
export interface ReadOptions {
  /** Which CLI printed these first lines of output. */
  readonly identify: (lines: readonly string[]) => Promise<string>;
}

/** Of a directory's `turn.json` and `exit.json` only what a recording has: a turn's own have more. */
const TurnJson = z.object({
  ...RecordedTurn.shape,
  degraded: z.object({ requested: z.string(), reason: z.string() }).optional(),
});
const ExitJson = z.object({ ...Exit.shape });
const HEAD_LINES = 200;
/** Longer lines are left out of what is identified. */
const HEAD_LINE_CHARACTERS = 262_144;
const ENCODING = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Makes a recording of files: an exported document, the files of a recording's directory, or only a CLI's output.
 *
 * @throws {Error} that says which file is not what it should be
 */
export async function readRecording(files: readonly GivenFile[], options: ReadOptions): Promise<Recording> {
  const turns = files.filter(({ path }) => nameOf(path) === "turn.json");
  const outputs = files.filter(({ path }) => nameOf(path) === "stdout.jsonl");
  const [first] = files;
  if (first === undefined) throw new Error("there is no file in what was given");
  const count = Math.max(turns.length, outputs.length);
  if (count > 1) throw new Error(`these are ${count} recordings: open one at a time`);
  const [turn] = turns;
  const [output] = outputs;
  if (turn !== undefined && isRecordedTurn(turn)) return readDirectory(turn, files);
  if (output !== undefined) return readOutput(output, files, options);
  if (files.length > 1) throw new Error("choose one document, one file of output, or the files of one recording");
  return readDocument(first) ?? readOutput(first, files, options);
}

/** Not an exported document that was saved under that name. */
function isRecordedTurn(file: GivenFile): boolean {
  return readDocument(file) === undefined;
}

function readDirectory(turn: GivenFile, files: readonly GivenFile[]): Recording {
  const beside = filesBeside(turn, files);
  const stdout = beside.get("stdout.jsonl");
  const parsed = parseJson(turn, TurnJson);
  const hasRun = parsed.created_at === undefined || parsed.started_at !== undefined;
  if (stdout === undefined && hasRun) throw new Error("stdout.jsonl is missing: choose it together with turn.json");
  const input = beside.get("input.txt") ?? beside.get("prompt.txt");
  return {
    v: 1,
    turn: parsed,
    ...readFiles(stdout, beside),
    ...timelineBeside(beside),
    ...(input === undefined ? {} : { input: new TextDecoder().decode(input.bytes) }),
  };
}

async function readOutput(
  output: GivenFile,
  files: readonly GivenFile[],
  { identify }: ReadOptions,
): Promise<Recording> {
  const text = new TextDecoder().decode(output.bytes);
  if (!/^\s*\{/m.test(text.slice(0, HEAD_LINE_CHARACTERS))) {
    throw new Error(`${output.path} is neither a recording nor a CLI's output: it has no JSON lines`);
  }
  const head = text.split("\n", HEAD_LINES).filter((line) => line !== "" && line.length < HEAD_LINE_CHARACTERS);
  const executor = await identify(head);
  return { v: 1, turn: { executor, output_alone: true }, ...readFiles(output, filesBeside(output, files)) };
}

/** An exported document; undefined where the file is something else. @throws {Error} for one with a wrong field */
function readDocument(file: GivenFile): RecordingDocument | undefined {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder().decode(file.bytes));
  } catch {
    return undefined; // Not JSON as a whole: lines, perhaps.
  }
  const isDocument = typeof value === "object" && value !== null && "turn" in value && "stdout" in value;
  return isDocument ? check(file, value, RecordingDocument) : undefined;
}

function readFiles(
  stdout: GivenFile | undefined,
  beside: ReadonlyMap<string, GivenFile>,
): Pick<Recording, "exit" | "stdout" | "stderr"> {
  const exit = beside.get("exit.json");
  return {
    exit: exit === undefined ? null : parseJson(exit, ExitJson),
    stdout: readLines(stdout),
    stderr: readLines(beside.get("stderr.log")),
  };
}

/** The order and times of its lines: from its events, or the timeline of an unpacked document. */
function timelineBeside(beside: ReadonlyMap<string, GivenFile>): { timeline?: TimelineEntry[] } {
  const [events, timeline] = [beside.get("events.jsonl"), beside.get("timeline.jsonl")];
  const file = events ?? timeline;
  if (file === undefined || file.bytes.length === 0) return {};
  const text = new TextDecoder().decode(file.bytes);
  try {
    return { timeline: events === undefined ? readTimeline(text) : timelineOfEvents(text) };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`${file.path} cannot be read: ${why}`, { cause: error });
  }
}

/** Lines with their newlines; a file whose bytes are no UTF-8 is one piece. */
function readLines(file: GivenFile | undefined): RecordingDocument["stdout"] {
  if (file === undefined) return [];
  try {
    return ENCODING.decode(file.bytes).match(/[^\n]*\n|[^\n]+$/g) ?? [];
  } catch {
    return [{ base64: toBase64(file.bytes) }];
  }
}

const CHUNK = 32_768;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

function filesBeside(file: GivenFile, files: readonly GivenFile[]): ReadonlyMap<string, GivenFile> {
  const directory = file.path.slice(0, -nameOf(file.path).length);
  const beside = files.filter(({ path }) => path === directory + nameOf(path));
  return new Map(beside.map((other) => [nameOf(other.path), other]));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function parseJson<T extends z.ZodType>(file: GivenFile, schema: T): z.output<T> {
  return parse(file, new TextDecoder().decode(file.bytes), schema);
}

function parse<T extends z.ZodType>(file: GivenFile, text: string, schema: T): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${file.path} is not JSON`);
  }
  return check(file, value, schema);
}

function check<T extends z.ZodType>({ path }: GivenFile, value: unknown, schema: T): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${path} is no recording: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim());
}
