import type { RunAs } from "../run-as.ts";
import { runTask } from "../run-tool.ts";
import type { Helper } from "../starter/starter.ts";

/** What is done to a home, in order. Paths are relative to it. Source: sandbox/write-home. */
export type HomeCommand =
  | { readonly do: "make" | "empty" | "remove" | "set_aside"; readonly path: string }
  | { readonly do: "write"; readonly path: string; readonly content: string | Buffer };

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

const LETTERS = { make: "D", empty: "E", remove: "R", set_aside: "A", write: "F" } as const;
const TIMEOUT_MS = 60_000;

/**
 * Changes a home with the rights of the user who owns it, in one short-lived process; it is entered with these too.
 *
 * @returns paths that were there and have been removed or set aside
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
  const limits = { timeoutMs: TIMEOUT_MS, ...(signal === undefined ? {} : { signal }) };
  const result =
    (await starter?.ask(["home", `${runAs.uid}`, `${runAs.gid}`, home, input], limits)) ??
    (await runTask(["home", home], { runAs, input, ...limits }));
  if (result.code !== 0) throw new HomeError(`${home} cannot be prepared: ${result.stderr || `exit ${result.code}`}`);
  return result.stdout === "" ? [] : result.stdout.split("\n");
}

function encode(command: HomeCommand): Buffer {
  const letter = LETTERS[command.do];
  if (command.do !== "write") return Buffer.from(`${letter} ${command.path}\n`);
  const content = Buffer.from(command.content);
  return Buffer.concat([Buffer.from(`${letter} ${content.length} ${command.path}\n`), content]);
}
