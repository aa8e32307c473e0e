import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXECUTORS, findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import type { Executor } from "../../../../src/turnd/daemon/executors/contract/executor.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { change, listPlaces, type Change } from "./changed-fields.ts";
import { conclude, readAll } from "./conclude.ts";
import { listRecordings } from "./recordings.ts";

/** A later version does each of them to each field of all records of a kind, and of some records alone. */
const OPERATIONS = ["rename", "drop", "add", "retype"] as const;
const CHANGES = 12;

/**
 * What proves that a turn was completed: without it, it counts as failed. Whatever else is renamed or dropped, the status
 * stays. A type or an id is lost with anything around it, such as `part`.
 */
const PROOF: Readonly<Record<string, RegExp>> = {
  "cli-a": /^(?:\* (?:type|sessionID)|step_finish part(?:\.reason)?)$/,
  "cli-b": /^(?:turn\.completed type|thread\.started (?:type|thread_id))$/,
};

/** Whether a change takes away what proves success. */
function takesProof(executor: Executor, { op, kind, path }: Change): boolean {
  if (op === "add") return false;
  const proof = PROOF[executor.id] ?? /^/;
  return proof.test(`* ${path}`) || proof.test(`${kind} ${path}`);
}

/** Another for each recording, the same in every run. */
function seedOf(name: string): number {
  return Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) | 0, 7);
}

describe.each(EXECUTORS)("$id", ({ id }) => {
  const executor = findExecutor(id);
  if (executor === undefined) throw new Error(`no executor ${id}`);
  const recordings = listRecordings(join(REPOSITORY, "fixtures"), id);
  /** Where each change was made to all records of a kind: once for each version, status and place. */
  const made = new Set<string>();
  const isFirst = (key: string): boolean => made.size < made.add(key).size;

  test.each(recordings)(
    "$name keeps its status whatever fields a later version renames, drops, adds or gives another type",
    (recording) => {
      const lines = readAll(recording);
      const places = listPlaces(lines);
      if (places.length === 0) return;
      // An error that stands is why the turn ended, and no event of its own.
      const errors = new Set(places.flatMap(({ kind, line }) => (kind === "error" ? [lines[line]?.number] : [])));
      const before = conclude(executor, recording, lines);
      expect(before.status).toBe(recording.expected.status);
      const hold = (later: Change): void => {
        const after = conclude(executor, recording, change(lines, later));
        const what = JSON.stringify(later);
        // Whatever is taken away, nothing becomes a success; and a success stays one while its proof stands.
        if (before.status !== "completed" || !takesProof(executor, later)) {
          expect(after.status, `${what}: ${after.said}`).toBe(before.status);
        }
        const isLost = (line: number): boolean => line < after.haltedAt && !after.shown.has(line) && !errors.has(line);
        const lost = [...before.shown].filter(isLost);
        expect(lost, `${what}: lines without an event`).toEqual([]);
      };
      const { turn, expected } = recording;
      const kinds = new Map(places.map((place) => [`${place.source} ${place.kind} ${place.path}`, place]));
      for (const [kind, place] of kinds) {
        if (!isFirst(`${turn.cli_version} ${expected.status} ${expected.code} ${kind}`)) continue;
        for (const op of OPERATIONS) hold({ ...place, op, everywhere: true });
      }
      const single = fc.tuple(fc.constantFrom(...places), fc.constantFrom(...OPERATIONS));
      fc.assert(
        fc.property(single, ([place, op]) => hold({ ...place, op, everywhere: false })),
        { numRuns: CHANGES, seed: seedOf(recording.name) },
      );
    },
  );
});
