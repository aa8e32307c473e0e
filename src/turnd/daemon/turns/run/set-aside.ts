import { access, rename } from "node:fs/promises";
import { join } from "node:path";
import { SPAN_FILE } from "./span-file.ts";

/** The files of a resume that failed, in the order in which they are moved. Source: docs/design.md §2. */
const FILES = ["exit.json", "stdout.jsonl", "stderr.log", "started", SPAN_FILE] as const;

/** Whether a turn's `started` or span is there: its CLI has been started, or was about to be. */
export async function wasStarted(directory: string): Promise<boolean> {
  return (await exists(join(directory, "started"))) || exists(join(directory, SPAN_FILE));
}

/**
 * Moves the files of a resume that failed to `resume.*`.
 *
 * `started` goes last: as long as it is there the turn cannot be started, so half a move is only ever finished.
 */
export async function setAsideResume(directory: string): Promise<void> {
  for (const name of FILES) {
    if (await exists(join(directory, name))) await rename(join(directory, name), join(directory, `resume.${name}`));
  }
}

/** Finishes a move that an earlier daemon had begun. */
export async function finishSetAside(directory: string): Promise<void> {
  const hasBegun =
    (await exists(join(directory, "resume.exit.json"))) || (await exists(join(directory, "resume.stdout.jsonl")));
  const isDone =
    (await exists(join(directory, "resume.started"))) || (await exists(join(directory, `resume.${SPAN_FILE}`)));
  if (hasBegun && !isDone) await setAsideResume(directory);
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
