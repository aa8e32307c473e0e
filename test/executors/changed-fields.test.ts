import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXECUTORS, findExecutor } from "../../src/daemon/executors/registry.ts";
import type { Executor } from "../../src/daemon/executors/contract/executor.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { change, listPlaces, type Change } from "./changed-fields.ts";
import { conclude, readAll } from "./conclude.ts";
import { listRecordings } from "./recordings.ts";

/** Changes of each recording: a later version renames, drops and adds fields, of one record or of all of a type. */
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

  test.each(recordings)(
    "$name keeps its status whatever fields a later version renames, drops or adds",
    (recording) => {
      const lines = readAll(recording);
      const places = listPlaces(lines);
      if (places.length === 0) return;
      // An error that stands is why the turn ended, and no event of its own.
      const errors = new Set(places.flatMap(({ kind, line }) => (kind === "error" ? [lines[line]?.number] : [])));
      const before = conclude(executor, recording, lines);
      expect(before.status).toBe(recording.expected.status);
      const changes = fc.record({
        at: fc.nat(places.length - 1),
        op: fc.constantFrom("rename", "drop", "add"),
        everywhere: fc.boolean(),
      });
      fc.assert(
        fc.property(changes, ({ at, op, everywhere }) => {
          const place = places[at];
          if (place === undefined) throw new Error("no such place");
          const made: Change = { ...place, op, everywhere };
          const after = conclude(executor, recording, change(lines, made));
          const what = JSON.stringify(made);
          // Whatever is taken away, nothing becomes a success; and a success stays one while its proof stands.
          if (before.status !== "completed" || !takesProof(executor, made)) {
            expect(after.status, `${what}: ${after.said}`).toBe(before.status);
          }
          const isLost = (line: number): boolean =>
            line < after.haltedAt && !after.shown.has(line) && !errors.has(line);
          const lost = [...before.shown].filter(isLost);
          expect(lost, `${what}: lines without an event`).toEqual([]);
        }),
        { numRuns: CHANGES, seed: seedOf(recording.name) },
      );
    },
  );
});
