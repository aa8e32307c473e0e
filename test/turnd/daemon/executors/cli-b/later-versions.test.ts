import { expect, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import type { Outcome } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";

/** What 0.169.0 prints where 0.139.0 does otherwise (seen with `node lab/matrix.ts`). */
function play(lines: readonly string[], outcome: Outcome) {
  const translator = cliB.createTranslator({ requestedSession: null });
  const events = lines.flatMap(
    (text, index) => translator.push({ source: "stdout", number: index + 1, text, isTruncated: false }).events,
  );
  return { events, failure: translator.end(outcome).failure };
}

const FAILED: Outcome = { exit: { code: 1, signal: null }, wasStopped: false };

test("a wait for the network is a retry, and the cause of a turn that is stopped in it", () => {
  const wait =
    '{"type":"error","message":"Reconnecting... waiting for network (Connection failed: error sending request)"}';
  const { events, failure } = play([wait, wait], { exit: { code: null, signal: "SIGKILL" }, wasStopped: true });
  expect(events.map(({ type, data }) => [type, "attempt" in data ? data.attempt : undefined])).toEqual([
    ["retry", 1],
    ["retry", 2],
  ]);
  expect(failure).toMatchObject({ code: "network_error", isProven: true });
});

test("a warning of the CLI's own is no item the provider sent", () => {
  const warning =
    '{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for `m` not found."}}';
  const message = "stream disconnected before completion: stream closed before response.completed";
  const failed = JSON.stringify({ type: "turn.failed", error: { message } });
  expect(play([warning, failed], FAILED).failure?.code).toBe("provider_error");
});

test("a used-up quota is distinguished from a rate", () => {
  const failed = '{"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan and billing details."}}';
  expect(play([failed], FAILED).failure?.code).toBe("quota_exceeded");
});

test.each([
  "You've hit your usage limit. Upgrade to Pro or try again in 5 minutes.",
  "You've hit your usage limit. Try again in 3 days 4 hours.",
])("a plan's limit is a quota, however soon it refills: %j", (message) => {
  expect(play([JSON.stringify({ type: "turn.failed", error: { message } })], FAILED).failure?.code).toBe(
    "quota_exceeded",
  );
});
