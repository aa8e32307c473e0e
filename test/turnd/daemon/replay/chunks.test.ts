import fc from "fast-check";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { findExecutor } from "../../../../src/turnd/daemon/executors/registry.ts";
import { createLineSplitter } from "../../../../src/turnd/daemon/process/output/line-splitter.ts";
import { listRecordings } from "../executors/recordings.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";

const FIXTURES = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(join(REPOSITORY, "fixtures"), executor));

/** The events of a recording whose stdout comes in the given chunks. */
function translate(recording: (typeof FIXTURES)[number], chunks: readonly Buffer[]): unknown[] {
  const translator = findExecutor(recording.turn.executor)?.createTranslator({
    requestedSession: recording.turn.requested_session,
    cliVersion: recording.turn.cli_version,
  });
  const splitter = createLineSplitter("stdout", 16_777_216);
  const lines = [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.flush()];
  const translations = lines.map((line) => translator?.push(line));
  return [translations, translator?.end({ exit: recording.exit, wasStopped: recording.turn.ended_by !== null })];
}

test("a recording cut at any chunk border gives the same events", () => {
  for (const recording of FIXTURES) {
    const bytes = readFileSync(join(recording.directory, "stdout.jsonl"));
    const whole = translate(recording, [bytes]);
    fc.assert(
      fc.property(fc.array(fc.nat(bytes.length), { maxLength: 12 }), (cuts) => {
        const borders = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const chunks = borders.slice(1).map((end, index) => bytes.subarray(borders[index], end));
        expect(translate(recording, chunks)).toEqual(whole);
      }),
      { numRuns: 10 },
    );
  }
});
