import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { TurnEndedData } from "../../../../../src/turnd/protocol/index.ts";
import { createTail } from "../../../../../src/turnd/daemon/event-log/tail.ts";
import { createTurn, type Turn } from "../../../../../src/turnd/daemon/turns/lifecycle/turn.ts";
import { TurnFile } from "../../../../../src/turnd/daemon/turns/lifecycle/turn-file.ts";
import { concludeTurn } from "../../../../../src/turnd/daemon/turns/outcome/conclude.ts";
import { findTaken } from "../../../../../src/turnd/daemon/turns/run/taken-input.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const ENDED: TurnEndedData = {
  status: "completed",
  output: "Done.",
  resumed: false,
  degraded: false,
  counts: { events: 3, records: 1, unknown: 0, tools: 0, retries: 0 },
  duration_ms: 1,
  digest: "0".repeat(64),
};
const EVIDENCE = { source: "turnd" as const, text: "cancelled" };

/** A turn whose input was given to one that has this log. */
function laterTurn(events: readonly { readonly type: string; readonly data: object }[]): Turn {
  const turns = temporaryDirectory(onTestFinished);
  const directory = join(turns, "later");
  for (const name of ["first", "later"]) mkdirSync(join(turns, name));
  const ids = { v: 1, at: "2026-01-01T00:00:00.000Z", turn_id: "first", session_id: "session-0001", executor: "cli-b" };
  const lines = events.map((event, index) => `${JSON.stringify({ ...ids, seq: index + 1, ...event })}\n`);
  writeFileSync(join(turns, "first", "events.jsonl"), lines.join(""));
  const file = TurnFile.parse({
    v: 1,
    turn_id: "later",
    request_id: "request-0002",
    request_hash: "",
    session_id: "session-0001",
    executor: "cli-b",
    mode: "execute",
    queue_policy: "steer",
    resume_policy: "continue",
    timeout_ms: 0,
    idle_timeout_ms: 0,
    images: [],
    workspace: "/workspace",
    created_at: ids.at,
    order: 2,
    given_to: "first",
  });
  const options = { file, directory, tail: createTail(0, 0), steerWaitMs: 1_000, onUnsaved: () => {} };
  return createTurn(options);
}

const accepted = { type: "input.accepted", data: { request_id: "request-0002", kind: "steer" } };
const ended = (data: Partial<TurnEndedData> = {}) => ({ type: "turn.ended", data: { ...ENDED, ...data } });

test("a turn whose input another took in ends as that one, with its answer", async () => {
  const outcome = await findTaken(laterTurn([accepted, ended()]));
  expect(outcome && concludeTurn(outcome.facts)).toMatchObject({
    status: "completed",
    taken_by: "first",
    output: "Done.",
  });
});

test("where that one was cancelled or failed, so was this one", async () => {
  const cancelled = await findTaken(laterTurn([accepted, ended({ status: "cancelled", cancelled_by: "steer" })]));
  expect(cancelled && concludeTurn(cancelled.facts)).toMatchObject({ status: "cancelled", cancelled_by: "steer" });
  const failure = {
    code: "rate_limited" as const,
    message: "Too many requests",
    retryable: true,
    user_action: "retry" as const,
    evidence: [EVIDENCE],
  };
  const failed = await findTaken(laterTurn([accepted, ended({ status: "failed", failure })]));
  expect(failed && concludeTurn(failed.facts)).toMatchObject({
    status: "failed",
    taken_by: "first",
    failure: { code: "rate_limited", message: expect.stringContaining("Too many requests") },
  });
});

// Law: success is proved.
test("without that proof it runs by itself", async () => {
  const other = { type: "input.accepted", data: { request_id: "request-0001", kind: "turn" } };
  expect(await findTaken(laterTurn([other, ended()]))).toBeUndefined();
  expect(await findTaken(laterTurn([]))).toBeUndefined();
});

test("one that took it in and whose end is not known is no success", async () => {
  const outcome = await findTaken(laterTurn([accepted]));
  expect(outcome && concludeTurn(outcome.facts)).toMatchObject({
    status: "failed",
    failure: { code: "storage_error" },
  });
});
