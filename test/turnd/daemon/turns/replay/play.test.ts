import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openEventLog } from "../../../../../src/turnd/daemon/event-log/event-log.ts";
import { createRedactor } from "../../../../../src/turnd/daemon/event-log/redact.ts";
import { createTail } from "../../../../../src/turnd/daemon/event-log/tail.ts";
import { readProgress } from "../../../../../src/turnd/daemon/turns/run/progress.ts";
import { createTurn } from "../../../../../src/turnd/daemon/turns/lifecycle/turn.ts";
import { playTurn } from "../../../../../src/turnd/daemon/turns/replay/play.ts";
import { createEmitter } from "../../../../../src/turnd/daemon/turns/run/emitter.ts";
import type { OpenTurn } from "../../../../../src/turnd/daemon/turns/run/run.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { admittedFile } from "../lifecycle/inputs.ts";

const NOW = "2026-01-01T00:00:00.000Z";

/** A replay that has its place, and nothing of it is played yet. */
async function openReplay(): Promise<OpenTurn> {
  const directory = join(temporaryDirectory(onTestFinished), "turn");
  mkdirSync(directory);
  const logPath = join(directory, "events.jsonl");
  writeFileSync(logPath, "");
  const redact = createRedactor([]);
  const tail = createTail(0, 0);
  const file = {
    ...admittedFile(),
    replay: { speed: "max" as const, ended_by: null, exit: null, has_run: true, is_played: false },
  };
  const turn = createTurn({
    file,
    directory,
    tail,
    steerWaitMs: 60_000,
    onUnsaved: (_, error) => expect(error).toBe(""),
  });
  await turn.send({ type: "dequeued" });
  const ids = { turnId: file.turn_id, sessionId: file.session_id, executor: file.executor };
  const log = await openEventLog({ ...ids, path: logPath, tail, now: () => NOW, redact });
  onTestFinished(() => log.close());
  const progress = await readProgress(logPath, redact);
  const on = { onWritten() {}, onSkipped() {}, onDifference() {}, onFault() {} };
  return {
    turn,
    logPath,
    progress,
    hasRoom: Promise.resolve(true),
    emitter: createEmitter({ log, logPath, progress, redact, ...on }),
  };
}

const parts = { executors: new Map(), limits: { maxLineBytes: 1_000 }, now: () => new Date(NOW) };

test("a replay that turnd's shutdown meets while its start is written is left to the next start", async () => {
  const open = await openReplay();
  const playing = playTurn(parts, open);
  void open.turn.send({ type: "stop_requested", reason: "shutdown" });
  expect([await playing, open.turn.life.phase]).toEqual([undefined, "postponed"]);
  // Nothing of it has been played: the next start may leave it to the one after it.
  const onDisk = JSON.parse(readFileSync(join(open.turn.directory, "turn.json"), "utf8"));
  expect([onDisk, open.turn.tail.lastSeq()]).toEqual([expect.not.objectContaining({ started_at: NOW }), 0]);
});

test("a replay that is cancelled while its start is written is not played", async () => {
  const open = await openReplay();
  const playing = playTurn(parts, open);
  void open.turn.send({ type: "stop_requested", reason: "cancel" });
  expect(await playing).toEqual({ facts: { endedBy: "cancel", exit: null, isDegraded: false } });
  expect([open.turn.life.phase, open.turn.tail.lastSeq()]).toEqual(["ending", 0]);
});
