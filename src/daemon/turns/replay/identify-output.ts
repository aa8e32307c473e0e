import type { CliName } from "../../../protocol/index.ts";
import { readJsonLine } from "../../executors/contract/json-line.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import { followOutput } from "../../process/output/follow.ts";
import { RecordingError } from "../../replay/recording-error.ts";

/** Whose output a file holds, by its records alone. */
export interface IdentifiedOutput {
  readonly executor: CliName;
  /** The measured version whose records have the same form; absent where the form shows none. */
  readonly printedLike?: string;
}

/** How much of a file is read: a line of the greatest length that is read whole, and some more. */
const HEAD_BYTES = 18_874_368;
/** So many records leave no doubt. */
const ENOUGH_RECORDS = 100;

/**
 * Finds out which CLI printed a file of stdout: the one that recognises its records, where no other does.
 *
 * Only the beginning of the file is read.
 * @param name - how messages call it
 * @throws {RecordingError} that names why it is unknown
 */
export async function identifyOutput(
  path: string,
  {
    name,
    executors,
    maxLineBytes,
  }: { readonly name: string; readonly executors: readonly Executor[]; readonly maxLineBytes: number },
): Promise<IdentifiedOutput> {
  const firstLines = new Map<Executor, number>();
  const forms = new Set<string>();
  let [lines, records] = [0, 0];
  for await (const { text, number } of readHead(path, maxLineBytes)) {
    lines = number;
    const read = readJsonLine(text);
    if (number === 1) assertReadable(name, text);
    if (read.kind !== "value") continue;
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
    if (records >= ENOUGH_RECORDS) break;
  }
  const [first, second] = [...firstLines];
  if (first === undefined) throw new RecordingError(name, describeNothing(lines, executors));
  if (second !== undefined) {
    const found = `line ${first[1]} is a record of ${first[0].id}, line ${second[1]} one of ${second[0].id}`;
    throw new RecordingError(name, `cannot tell whose output it is: ${found}; ${ADVICE}`);
  }
  const [printedLike] = forms.size === 1 ? forms : [];
  return { executor: first[0].id, ...(printedLike === undefined ? {} : { printedLike }) };
}

const ADVICE = "name the CLI with --executor";

function describeNothing(lines: number, executors: readonly Executor[]): string {
  const known = executors.map(({ id }) => id).join(" or ");
  return lines === 0
    ? `is empty, so it is unknown which CLI printed nothing; ${ADVICE}`
    : `cannot tell whose output it is: none of its first ${lines} lines is a record of ${known}; ${ADVICE}`;
}

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
}

function isTurndEvent(value: unknown): boolean {
  return typeof value === "object" && value !== null && "v" in value && "seq" in value && "turn_id" in value;
}
