import * as z from "zod";
import { RecordedTurn, RecordingDocument, TimelineEntry } from "../../protocol/recordings.ts";
import { Exit } from "../../protocol/event-data.ts";
import type { ReplayRequestBody } from "../../client/turnd-client.ts";

/** Of a directory's `turn.json` only what a recording has: a turn's own has more. */
const TurnJson = z.object({ ...RecordedTurn.shape });

/**
 * Makes a recording of files that a reader has chosen: one exported document, or the files of a recording's directory.
 *
 * @throws {Error} that says which file is not what it should be
 */
export async function readRecordingFiles(files: readonly File[]): Promise<ReplayRequestBody["recording"]> {
  const [first] = files;
  if (files.length === 1 && first !== undefined && first.name !== "turn.json") return readDocument(first);
  const named = new Map(files.map((file) => [file.name, file]));
  const turn = named.get("turn.json");
  const stdout = named.get("stdout.jsonl");
  if (turn === undefined || stdout === undefined) {
    throw new Error("choose one exported document, or turn.json and stdout.jsonl with what lies beside them");
  }
  const exit = named.get("exit.json");
  const timeline = named.get("timeline.jsonl");
  return {
    v: 1,
    turn: await readJson(turn, TurnJson),
    exit: exit === undefined ? null : await readJson(exit, Exit),
    stdout: await readLines(stdout),
    stderr: await readLines(named.get("stderr.log")),
    ...(timeline === undefined ? {} : { timeline: await readTimeline(timeline) }),
    ...(await readInput(named)),
  };
}

async function readDocument(file: File): Promise<RecordingDocument> {
  return readJson(file, RecordingDocument);
}

async function readInput(named: ReadonlyMap<string, File>): Promise<{ input?: string }> {
  const file = named.get("input.txt") ?? named.get("prompt.txt");
  return file === undefined ? {} : { input: await file.text() };
}

async function readTimeline(file: File): Promise<TimelineEntry[]> {
  const lines = (await file.text()).split("\n").filter((line) => line !== "");
  return lines.map((line) => parse(file.name, line, TimelineEntry));
}

/** Lines with their newlines; a file whose bytes are no UTF-8 is one piece. */
async function readLines(file: File | undefined): Promise<RecordingDocument["stdout"]> {
  if (file === undefined) return [];
  const bytes = new Uint8Array(await file.arrayBuffer());
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  } catch {
    return [{ base64: toBase64(bytes) }];
  }
}

const CHUNK = 32_768;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(binary);
}

async function readJson<T extends z.ZodType>(file: File, schema: T): Promise<z.output<T>> {
  return parse(file.name, await file.text(), schema);
}

function parse<T extends z.ZodType>(name: string, text: string, schema: T): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${name} is not JSON`);
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${name} is no recording: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`.trim());
}
