import { defined } from "../../../../kit/defined.ts";
import type { CliName } from "../../../protocol/index.ts";
import { readJsonLine } from "../../executors/contract/json-line.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import { followOutput } from "../../process/output/follow.ts";
import { RecordingError } from "../../replay/recording-error.ts";
import { createMailWatch } from "./mailed-output.ts";

/** Whose output a file holds, only by its records. */
export interface IdentifiedOutput {
  readonly executor: CliName;
  /** The measured version whose records have the same form; absent where the form shows none. */
  readonly printedLike?: string;
}

/** How much of a file is read: a line of the greatest length that is read whole, and some more. */
const HEAD_BYTES = 18_874_368;
/** So many records leave no doubt. */
const ENOUGH_RECORDS = 100;

/** How output is identified. */
export interface IdentifyOptions {
  /** How messages call the output. */
  readonly name: string;
  readonly executors: readonly Executor[];
  /** What helps where the CLI cannot be told. */
  readonly advice: string;
}

/**
 * Finds out which CLI printed a file of stdout: the one that recognises its records, where no other does.
 *
 * Only the beginning of the file is read.
 * @throws {RecordingError} that names why it is unknown
 */
export async function identifyOutput(
  path: string,
  { maxLineBytes, ...options }: IdentifyOptions & { readonly maxLineBytes: number },
): Promise<IdentifiedOutput> {
  const seen = createIdentifier(options);
  for await (const line of readHead(path, maxLineBytes)) if (seen.look(line)) break;
  return seen.conclude();
}

/** The same for the first lines of output. @throws {RecordingError} that names why it is unknown */
export function identifyLines(lines: readonly string[], options: IdentifyOptions): IdentifiedOutput {
  const seen = createIdentifier(options);
  for (const [index, text] of lines.entries()) if (seen.look({ text, number: index + 1 })) break;
  return seen.conclude();
}

interface Identifier {
  /** Whether no more lines are needed. */
  look(line: { readonly text: string; readonly number: number }): boolean;
  conclude(): IdentifiedOutput;
}

function createIdentifier({ name, executors, advice }: IdentifyOptions): Identifier {
  const firstLines = new Map<Executor, number>();
  const forms = new Set<string>();
  let [lines, records] = [0, 0];
  let hidden: string | undefined;
  const mail = createMailWatch(executors);

  return {
    look({ text, number }) {
      lines = number;
      const read = readJsonLine(text);
      if (number === 1) assertReadable(name, text);
      const mailed = mail.look(text, number);
      if (mailed !== undefined) throw new RecordingError(name, mailed);
      if (read.kind !== "value") {
        hidden ??= findHidden(text, number, executors);
        return false;
      }
      if (isTurndEvent(read.value)) {
        throw new RecordingError(name, "holds events of turnd (events.jsonl), not the output of a CLI (stdout.jsonl)");
      }
      for (const executor of executors) {
        const sign = executor.recogniseRecord(read.value);
        if (sign === undefined) continue;
        records += 1;
        if (!firstLines.has(executor)) firstLines.set(executor, number);
        if (sign.printedLike !== undefined) forms.add(sign.printedLike);
      }
      return records >= ENOUGH_RECORDS;
    },
    conclude() {
      const [first, second] = [...firstLines];
      if (first === undefined)
        throw new RecordingError(name, hidden ?? `${describeNothing(lines, executors)}; ${advice}`);
      if (second !== undefined) {
        const found = `line ${first[1]} is a record of ${first[0].id}, line ${second[1]} one of ${second[0].id}`;
        throw new RecordingError(name, `cannot tell whose output it is: ${found}; ${advice}`);
      }
      const [printedLike] = forms.size === 1 ? forms : [];
      return { executor: first[0].id, ...defined({ printedLike }) };
    },
  };
}

function describeNothing(lines: number, executors: readonly Executor[]): string {
  const known = executors.map(({ id }) => id).join(" or ");
  return lines === 0
    ? `is empty, so it is unknown which CLI printed nothing`
    : `cannot tell whose output it is: none of its first ${lines} lines is a record of ${known}`;
}

/** A quoting mail, `docker compose logs` and `kubectl logs --timestamps` put something before each line. */
function findHidden(text: string, number: number, executors: readonly Executor[]): string | undefined {
  const start = text.indexOf("{");
  if (start <= 0) return undefined;
  const read = readJsonLine(text.slice(start));
  if (read.kind !== "value") return undefined;
  const found = executors.find((executor) => executor.recogniseRecord(read.value) !== undefined);
  if (found === undefined) return undefined;
  const before = JSON.stringify(text.slice(0, Math.min(start, MAX_SHOWN)));
  return `line ${number} is a record of ${found.id} behind ${before}; take that away first: sed 's/^[^{]*//'`;
}

/** Of what stands before a record. */
const MAX_SHOWN = 60;

async function* readHead(path: string, maxLineBytes: number): AsyncGenerator<{ text: string; number: number }> {
  const output = followOutput({
    stdoutPath: path,
    stderrPath: "/dev/null",
    maxLineBytes,
    maxBytes: HEAD_BYTES,
    finished: AbortSignal.abort(),
  });
  for await (const { lines } of output) for (const line of lines) if (line.source === "stdout") yield line;
}

/** What no `--executor` makes readable. */
function assertReadable(name: string, firstLine: string): void {
  // The byte order mark of UTF-16, each byte of which is no UTF-8; a shell of Windows writes it.
  if (/^\ufffd{2}/.test(firstLine) && firstLine.includes("\u0000")) {
    throw new RecordingError(name, "is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
  }
  // The same without its mark: every second byte of what a record begins with is zero.
  const zeroAt = /^[{[]/.test(firstLine) ? 1 : 0;
  if (firstLine[zeroAt] === "\u0000" && /^.?[{[]/s.test(firstLine)) {
    const encoding = zeroAt === 1 ? "UTF-16LE" : "UTF-16BE";
    throw new RecordingError(name, `looks like UTF-16 text; convert it first: iconv -f ${encoding} -t UTF-8`);
  }
  const start = firstLine.replace("\ufeff", "").trim();
  if (start === "{") throw new RecordingError(name, "has records of several lines; convert it first: jq -c .");
  if (/^\[(?:\s*\{|$)/.test(start)) throw new RecordingError(name, "is a JSON array; convert it first: jq -c '.[]'");
}

function isTurndEvent(value: unknown): boolean {
  return typeof value === "object" && value !== null && "v" in value && "seq" in value && "turn_id" in value;
}
