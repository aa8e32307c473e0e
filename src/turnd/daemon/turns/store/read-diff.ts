import { createReadStream } from "node:fs";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { ProblemError } from "../../../protocol/index.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { DIFF_FILE, readChanges } from "./record-changes.ts";

/** The diff of an ended turn. */
export interface TurnDiff {
  readonly sizeBytes: number;
  /** It is longer than turnd keeps, or took too long: it cannot be applied. */
  readonly isTruncated: boolean;
  /** What it says nothing of: files that git could not convert, and repositories in a workspace that is in none. */
  readonly leftOut: readonly { readonly path: string; readonly reason: string }[];
  read(): Readable;
}

/**
 * Opens the diff of a turn that has ended.
 *
 * @throws {ProblemError} diff_not_found, with why there is none
 */
export async function openDiff(turn: Turn): Promise<TurnDiff> {
  const { turn_id: id, diff } = turn.file;
  if (diff !== true) {
    const message = `turn ${id} has no diff: ask for it by \`diff\` in POST /v1/turns, or by TURND_TURN_DIFF for all turns`;
    throw new ProblemError("diff_not_found", message, { turn_id: id });
  }
  const changes = await readChanges(turn);
  if (changes?.bytes === undefined) {
    const reason = changes?.none ?? "it never ran, or turnd was killed before it was written";
    throw new ProblemError("diff_not_found", `turn ${id} has no diff: ${reason}`, { turn_id: id });
  }
  const { bytes, is_truncated: isTruncated = false, left_out: leftOut = [] } = changes;
  return {
    sizeBytes: bytes,
    isTruncated,
    leftOut,
    read: () => createReadStream(join(turn.directory, DIFF_FILE), { end: Math.max(0, bytes - 1) }),
  };
}
