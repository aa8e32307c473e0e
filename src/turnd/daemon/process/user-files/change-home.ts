import { defined } from "../../../../kit/defined.ts";
import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";
import type { Helper } from "../starter/starter.ts";

/** What is done to a home, in order. Paths are relative to it. Source: sandbox/write-home. */
export type HomeCommand =
  | { readonly do: "make" | "empty" | "remove" | "set_aside" | "only_plain"; readonly path: string }
  /** From here on nothing that stands in the place of a directory is removed: it is a fault. For a home that is a person's. */
  | { readonly do: "keep_others" }
  | { readonly do: "write"; readonly path: string; readonly content: string | Buffer }
  | {
      /** `keep_live`: what has one of the names stays as it is, links and pipes too: a running program uses the directory. */
      readonly do: "keep_only" | "keep_live";
      readonly path: string;
      readonly names: readonly string[];
      readonly made: readonly string[];
    }
  | { readonly do: "tidy_lines"; readonly path: string; readonly rules: readonly LineRule[] };

/** What `tidy_lines` does to every line of a type. */
interface LineRule {
  readonly typePath: string;
  readonly type: string;
  readonly path: string;
  readonly names: readonly string[];
  readonly dropped: readonly string[];
  readonly set?: Readonly<Record<string, string>>;
}

export interface HomeWriter {
  readonly runAs: RunAs;
  /** Has it done in a process of its own; absent: it is done by a new one. */
  readonly starter?: Helper;
}

/** The home could not be prepared: no room, or not writable. */
export class HomeError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "HomeError";
  }
}

const LETTERS = {
  make: "D",
  empty: "E",
  remove: "R",
  set_aside: "A",
  write: "F",
  keep_only: "K",
  keep_live: "L",
  only_plain: "P",
  tidy_lines: "T",
  keep_others: "S",
} as const;
const TIMEOUT_MS = 60_000;

/**
 * Changes a home with the rights of the user who owns it, in one short-lived process; it is entered with these too.
 *
 * @returns paths that were there and have been removed or set aside, and `<name> in <path>` for what a line has lost
 * @param signal - gives it up, wherever it has come to
 * @throws {HomeError} with what the system said; the signal's reason, once it has aborted
 */
export async function changeHome(
  writer: HomeWriter,
  home: string,
  commands: readonly HomeCommand[],
  signal?: AbortSignal,
): Promise<string[]> {
  const input = Buffer.concat(commands.map(encode));
  const { runAs, starter } = writer;
  const limits = { timeoutMs: TIMEOUT_MS, ...defined({ signal }) };
  const result =
    (await starter?.ask(["home", `${runAs.uid}`, `${runAs.gid}`, home, input], limits)) ??
    (await runTask(["home", home], { runAs, input, ...limits }));
  if (result.code !== 0) throw new HomeError(`${home} cannot be prepared: ${result.stderr || `exit ${result.code}`}`);
  return result.stdout === "" ? [] : result.stdout.split("\n");
}

function encode(command: HomeCommand): Buffer {
  const letter = LETTERS[command.do];
  switch (command.do) {
    case "write": {
      const content = Buffer.from(command.content);
      return Buffer.concat([Buffer.from(`${letter} ${content.length} ${command.path}\n`), content]);
    }
    case "keep_only":
    case "keep_live":
      return Buffer.from(`${letter} ${[command.path, command.names.join(" "), command.made.join(" ")].join("\t")}\n`);
    case "tidy_lines":
      return Buffer.from(`${letter} ${[command.path, ...command.rules.map(encodeRule)].join("\t")}\n`);
    case "keep_others":
      return Buffer.from(`${letter} -\n`);
    case "make":
    case "empty":
    case "remove":
    case "set_aside":
    case "only_plain":
      return Buffer.from(`${letter} ${command.path}\n`);
  }
}

function encodeRule({ typePath, type, path, names, dropped, set = {} }: LineRule): string {
  const settings = Object.entries(set).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return [typePath, type, path, ...[names, dropped, settings].map((list) => list.join(" "))].join("|");
}
