import { createWriteStream } from "node:fs";
import { copyFile, mkdir, readFile } from "node:fs/promises";
import { once } from "node:events";
import { join } from "node:path";
import { REPOSITORY } from "../../test/harness/temporary.ts";

/** The CLIs that a long recording can be made of. */
export type Recorded = "cli-a" | "cli-b";

interface Source {
  readonly directory: string;
  readonly cases: readonly string[];
  /** Records that stand once, before and after everything else. */
  readonly isHead: (line: string) => boolean;
  readonly isTail: (line: string) => boolean;
  /** Gives every id of a repetition a value of its own: translators know an id that comes again for a repeat. */
  readonly renew: (text: string, repetition: number) => string;
}

const SOURCES: Readonly<Record<Recorded, Source>> = {
  "cli-a": {
    directory: "fixtures/cli-a/1.14.34",
    cases: ["tool-succeeds", "reasoning", "write", "todo-list", "edit-after-read"],
    isHead: () => false,
    isTail: () => false,
    renew: (text, repetition) =>
      text
        .replaceAll(/"((?:prt|msg|call)_\w+)"/g, `"$1r${repetition}"`)
        .replaceAll(/"ses_\w+"/g, '"ses_e02e8001fffeLRz6FDYkoeNVW7"'),
  },
  "cli-b": {
    directory: "fixtures/cli-b/0.139.0",
    cases: ["shell-succeeds", "web-search-and-reasoning", "todo-list", "patch-applied", "text-answer"],
    isHead: (line) => /^\{"type":"(thread|turn)\.started"/.test(line),
    isTail: (line) => line.startsWith('{"type":"turn.completed"'),
    renew: (text, repetition) => text.replaceAll(/"((?:item|ws)_\d+)"/g, `"$1r${repetition}"`),
  },
};

/**
 * Makes a long recording from fixtures, repeated until it is large enough.
 *
 * @param directory - made here
 */
export async function makeRecording(executor: Recorded, directory: string, sizeBytes: number): Promise<void> {
  const source = SOURCES[executor];
  await mkdir(directory);
  const [first = ""] = source.cases;
  for (const name of ["turn.json", "exit.json"]) {
    await copyFile(join(REPOSITORY, source.directory, first, name), join(directory, name));
  }
  const out = createWriteStream(join(directory, "stdout.jsonl"));
  const texts: string[] = [];
  for (const name of source.cases) {
    texts.push(await readFile(join(REPOSITORY, source.directory, name, "stdout.jsonl"), "utf8"));
  }
  const lines = (texts[0] ?? "").trimEnd().split("\n");
  const [head, tail] = [lines.filter(source.isHead), lines.filter(source.isTail)];
  const body = texts
    .flatMap((text) => text.trimEnd().split("\n"))
    .filter((line) => !source.isHead(line) && !source.isTail(line));
  out.write(toText(head));
  for (let repetition = 0, written = 0; written < sizeBytes; repetition += 1) {
    const text = source.renew(toText(body), repetition);
    written += text.length;
    if (!out.write(text)) await once(out, "drain");
  }
  out.end(toText(tail));
  await once(out, "finish");
}

function toText(lines: readonly string[]): string {
  return lines.map((line) => `${line}\n`).join("");
}
