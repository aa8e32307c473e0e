import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXECUTORS, findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import type { OutputLine } from "../../../../src/turnd/daemon/executors/contract/translator.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { conclude, readAll } from "./conclude.ts";
import { listRecordings } from "./recordings.ts";

const RUNS = 6;
/** Records that say how a turn goes or ends: in another order they say something else. */
const ORDERED = /^\{"type":"(?:step_start|step_finish|error|thread\.|turn\.)/;

/** As a file has them: each source numbered from 1. */
function number(lines: readonly OutputLine[]): OutputLine[] {
  const next = { stdout: 0, stderr: 0 };
  return lines.map((line) => ({ ...line, number: (next[line.source] += 1) }));
}

/** A record of a kind that nobody knows, of the same session. */
function unknownRecord(lines: readonly OutputLine[]): OutputLine {
  const first = lines.find(({ source }) => source === "stdout")?.text ?? "";
  const session = /"(?:sessionID|thread_id)":"[^"]*"/.exec(first)?.[0];
  const text = `{"type":"hologram","timestamp":1,${session === undefined ? "" : `${session},`}"part":{"a":[1,{"b":null}]}}`;
  return { source: "stdout", number: 0, text, isTruncated: false };
}

function findLastRecord(lines: readonly OutputLine[]): number {
  return lines.findLastIndex(({ source, text }) => source === "stdout" && text.startsWith("{"));
}

/** Another order of the two files, each of which keeps its own. */
function interleave(lines: readonly OutputLine[], picks: readonly boolean[]): OutputLine[] {
  const queues = [
    lines.filter(({ source }) => source === "stdout"),
    lines.filter(({ source }) => source === "stderr"),
  ] as const;
  const mixed: OutputLine[] = [];
  for (let at = 0; mixed.length < lines.length; at += 1) {
    const [first, second] = picks[at % picks.length] === true ? queues : [queues[1], queues[0]];
    const line = first.shift() ?? second.shift();
    if (line !== undefined) mixed.push(line);
  }
  return mixed;
}

describe.each(EXECUTORS)("$id", ({ id }) => {
  const executor = findExecutor(id);
  if (executor === undefined) throw new Error(`no executor ${id}`);
  const recordings = listRecordings(join(REPOSITORY, "fixtures"), id);

  test.each(recordings)("$name comes to the same end whatever stands between its lines, or twice", (recording) => {
    const lines = readAll(recording);
    const { status, code } = conclude(executor, recording, lines);
    expect(status).toBe(recording.expected.status);
    const same = (what: string, changed: readonly OutputLine[]): void => {
      const after = conclude(executor, recording, number(changed));
      expect({ status: after.status, code: after.code }, `${what}: ${after.said}`).toEqual({ status, code });
    };
    const printed = lines.findIndex(({ source }) => source === "stderr");
    const records = printed === -1 ? lines.length : printed;
    fc.assert(
      fc.property(fc.nat(records), fc.array(fc.boolean(), { minLength: 3, maxLength: 9 }), (at, picks) => {
        // A type of a later version takes the proof of success away nowhere. Law: success is proved.
        same(`an unknown record at ${at}`, [...lines.slice(0, at), unknownRecord(lines), ...lines.slice(at)]);
        same("the two files mixed", interleave(lines, picks));
        const line = lines[at];
        if (line === undefined) return;
        same(`line ${at} twice`, [...lines.slice(0, at + 1), line, ...lines.slice(at + 1)]);
        const next = lines[at + 1];
        if (next === undefined || at + 1 >= records || ORDERED.test(line.text) || ORDERED.test(next.text)) return;
        same(`line ${at} after the next`, [...lines.slice(0, at), next, line, ...lines.slice(at + 2)]);
      }),
      { numRuns: RUNS, seed: 7 },
    );
  });

  test.each(recordings)("$name is no success once its last record is cut, and stays what it was else", (recording) => {
    const lines = readAll(recording);
    const last = findLastRecord(lines);
    const record = lines[last];
    if (record === undefined) return;
    const before = conclude(executor, recording, lines);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: record.text.length - 1 }), (length) => {
        const cut = lines.map((line, at) => (at === last ? { ...line, text: line.text.slice(0, length) } : line));
        const after = conclude(executor, recording, cut);
        if (before.status === "cancelled") expect(after.status).toBe("cancelled");
        else expect(after.status, after.said).toBe("failed");
      }),
      { numRuns: RUNS, seed: 7 },
    );
  });
});
