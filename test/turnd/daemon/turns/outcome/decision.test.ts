import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { TurnResult, type Decision, type Exit, type TriedRule } from "../../../../../src/turnd/protocol/index.ts";
import type { Ending } from "../../../../../src/turnd/daemon/executors/contract/translator.ts";
import type { FailureDraft, FailureRule } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";
import { decideFailure, toExitFacts } from "../../../../../src/turnd/daemon/executors/classification/rules.ts";
import { ownFailure } from "../../../../../src/turnd/daemon/turns/outcome/own-failure.ts";
import { concludeTurn, type TurnFacts } from "../../../../../src/turnd/daemon/turns/outcome/conclude.ts";
import { explainTurn, keepLogged, toVerdict } from "../../../../../src/turnd/daemon/turns/outcome/decision.ts";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { fakeDaemon, fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const EXITED: Exit = { code: 0, signal: null };
const KILLED: Exit = { code: null, signal: "SIGKILL" };
const TABLE: readonly FailureRule[] = [
  { id: "said", on: "record", pattern: /429/, code: "rate_limited", message: "Limited.", seenIn: "a fixture" },
  { id: "exit", on: "exit", code: "unknown", message: "Ended.", seenIn: "a section", isProven: false },
];
const proven = decideFailure(TABLE, [{ on: "record", source: "stdout", line: 7, text: "429" }], "Nothing.");
const guessed = decideFailure(TABLE, toExitFacts(KILLED, "somewhere"), "Nothing.");
const proof: Ending["proof"] = { evidence: [{ source: "stdout", line: 9, text: "done" }], seenIn: "a fixture" };

function facts(ending: { failure?: FailureDraft; proof?: Ending["proof"] }, rest: Partial<TurnFacts>): TurnFacts {
  const { failure } = ending;
  const common = { events: [], output: null, nativeSessionId: null, isResumed: false };
  const explained = failure === undefined ? { proof: proof as NonNullable<Ending["proof"]> } : { failure };
  return { endedBy: null, exit: EXITED, isDegraded: false, ending: { ...common, ...explained }, ...rest };
}

test.each([
  ["its exit code is another", { exit: { code: 3, signal: null } }, "failed"],
  ["it was killed", { exit: KILLED }, "failed"],
  ["its end was not seen", { exit: null }, "failed"],
  ["its exit was not recorded", { exit: null, isExitUnrecorded: true }, "completed"],
  ["its exit code is the one that belongs to the proof", { exit: EXITED }, "completed"],
])("of a CLI that printed a proof of completion the turn is judged by its exit too: %s", (_, rest, status) => {
  expect(concludeTurn(facts({}, rest)).status).toBe(status);
});

const matched = (tried: readonly TriedRule[] | undefined): string[] =>
  (tried ?? []).flatMap(({ rule, outcome }) => (outcome === "no_match" ? [] : [`${rule} ${outcome}`]));

test.each([
  {
    what: "a cancel outweighs a proof of completion",
    given: facts({}, { endedBy: "cancel" }),
    shown: ["turnd/cancel won", "completed outranked"],
  },
  {
    what: "a proof of completion outweighs a watchdog",
    given: facts({}, { endedBy: "idle_timeout" }),
    shown: ["completed won", "turnd/idle_timeout outranked"],
  },
  {
    what: "a proof of completion outweighs a steer",
    given: facts({}, { endedBy: "steer" }),
    shown: ["completed won", "turnd/steer outranked"],
  },
  {
    what: "a steer outweighs a proven cause",
    given: facts({ failure: proven }, { endedBy: "steer", exit: KILLED }),
    shown: ["turnd/steer won", "said outranked"],
  },
  {
    what: "a proof of completion outweighs a shutdown",
    given: facts({}, { endedBy: "shutdown" }),
    shown: ["completed won", "turnd/shutdown outranked"],
  },
  {
    what: "an output limit outweighs a proof of completion",
    given: facts({}, { endedBy: "output_limit" }),
    shown: ["turnd/output_limit won", "completed outranked"],
  },
  {
    what: "a proven cause outweighs the watchdog",
    given: facts({ failure: proven }, { endedBy: "idle_timeout", exit: KILLED }),
    shown: ["said won", "turnd/idle_timeout outranked"],
  },
  {
    what: "a watchdog outweighs a guess",
    given: facts({ failure: guessed }, { endedBy: "turn_timeout", exit: KILLED }),
    shown: ["turnd/turn_timeout won", "exit outranked"],
  },
  {
    what: "a shutdown outweighs a proven cause",
    given: facts({ failure: proven }, { endedBy: "shutdown", exit: KILLED }),
    shown: ["turnd/shutdown won", "said outranked"],
  },
  {
    what: "a lost keeper outweighs a guess",
    given: facts({ failure: guessed }, { exit: null }),
    shown: ["turnd/keeper_lost won", "exit outranked"],
  },
  { what: "a guess is better than nothing", given: facts({ failure: guessed }, { exit: KILLED }), shown: ["exit won"] },
  {
    what: "what turnd stopped a process for outweighs what it printed",
    given: facts({ failure: proven }, { halt: ownFailure("storage_error", "Full.") }),
    shown: ["turnd/storage_error won", "said outranked"],
  },
])("$what", ({ given, shown }) => {
  const decision = explainTurn(given);
  expect(matched(decision.tried)).toEqual(shown);
  expect(decision.verdict).toBe(toVerdict({ ...concludeTurn(given), ...COUNTED }));
});

const COUNTED = {
  counts: { events: 1, records: 0, unknown: 0, tools: 0, retries: 0 },
  duration_ms: 0,
  digest: "0".repeat(64),
};

test("what was logged at the end stays, whatever the directory shows now", () => {
  const logged = { ...concludeTurn(facts({}, { halt: ownFailure("storage_error", "The disk is full.") })), ...COUNTED };
  const shown = explainTurn(facts({ failure: proven }, {}));
  const kept = keepLogged(logged, shown);
  expect(kept).toMatchObject({ rule: "turnd/storage_error", verdict: "storage_error", on: "turnd" });
  expect(matched(kept.tried)).toEqual(["turnd/storage_error won", "said outranked"]);
  expect(keepLogged(logged, undefined).tried).toHaveLength(1);
  const cancelled = { ...concludeTurn(facts({}, { endedBy: "cancel" })), ...COUNTED };
  expect(keepLogged(cancelled, shown)).toMatchObject({
    rule: "turnd/cancel",
    verdict: "cancelled",
    evidence: explainTurn(facts({}, { endedBy: "cancel" })).evidence,
  });
  const completed = { ...concludeTurn(facts({}, {})), ...COUNTED };
  expect(keepLogged(completed, shown)).toMatchObject({ rule: "as-logged", verdict: "completed" });
});

async function explain(turnd: TestDaemon, turnId: string): Promise<Decision> {
  const { body } = await turnd.request("GET", `/v1/turns/${turnId}/result?explain=true`);
  return TurnResult.parse(body).decision;
}

function resultPath(turnd: TestDaemon, { session_id, turn_id }: { session_id: string; turn_id: string }): string {
  return join(turnd.state, "sessions", session_id, "turns", turn_id, "result.json");
}

test("a completed turn names the line that proves it", async () => {
  const turnd = await fakeDaemon();
  const result = await turnd.run({ executor: "cli-b", input: "hello" });
  expect(result.decision).toMatchObject({ rule: "completed", verdict: "completed", on: "record" });
  expect(result.decision).not.toHaveProperty("tried");
  const [line] = result.decision.evidence;
  const stdout = readFileSync(join(resultPath(turnd, result), "../stdout.jsonl"), "utf8").split("\n");
  expect(stdout[(line?.line ?? 0) - 1]).toContain(line?.text);
  expect((await explain(turnd, result.turn_id)).tried?.filter(({ outcome }) => outcome === "won")).toHaveLength(1);
});

test("a failed turn shows which rules were tried, and which won", async () => {
  const turnd = await fakeDaemon();
  const failed =
    '{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 429 Too Many Requests"}}';
  const result = await turnd.run({ executor: "cli-b", input: `raw ${failed}\nexit 1` });
  expect(result.failure?.code).toBe("rate_limited");
  expect(result.decision).toMatchObject({ verdict: "rate_limited", on: "record", evidence: result.failure?.evidence });
  const { tried = [], rule } = await explain(turnd, result.turn_id);
  expect(tried.find(({ outcome }) => outcome === "won")).toMatchObject({ rule, evidence: result.failure?.evidence[0] });
  expect(tried.filter(({ outcome }) => outcome === "no_match").length).toBeGreaterThan(20);
});

test("a decision outlives its daemon, and is made again where none was kept", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory);
  const completed = await first.run({ executor: "cli-b", input: "hello" });
  const running = await first.admit({ executor: "cli-b", input: "hello\nhang" });
  await waitFor("the message", async () =>
    (await first.events(running.turn_id)).some((event) => event.type === "message"),
  );
  await first.request("POST", `/v1/turns/${running.turn_id}/cancel`);
  const turns = [completed, running];
  const before = await Promise.all(turns.map((turn) => explain(first, turn.turn_id)));
  expect(before.map(({ rule }) => rule)).toEqual(["completed", "turnd/cancel"]);
  await first.stop();

  const [lost, earlier] = turns.map((turn) => resultPath(first, turn));
  rmSync(lost ?? "");
  // As an earlier turnd wrote it: without the decision.
  const { decision: _, ...rest } = TurnResult.parse(JSON.parse(readFileSync(earlier ?? "", "utf8")));
  writeFileSync(earlier ?? "", `${JSON.stringify(rest)}\n`);
  const second = await fakeDaemonIn(directory);
  expect(await Promise.all(turns.map((turn) => explain(second, turn.turn_id)))).toEqual(before);
  for (const path of [lost, earlier]) {
    expect(TurnResult.parse(JSON.parse(readFileSync(path ?? "", "utf8"))).decision.tried).toBeDefined();
  }
});

test("a turn that never ran was decided by turnd, also when that is decided again", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const first = await fakeDaemonIn(directory, { CLI_B_BIN: "/nowhere/cli-b" });
  const refused = await first.run({ executor: "cli-b", input: "hello" });
  expect(refused.failure?.code).toBe("executor_unavailable");
  expect(refused.decision).toMatchObject({ rule: "turnd/executor_unavailable", on: "turnd" });
  expect(refused.decision.evidence).toMatchObject([{ source: "turnd" }]);
  await first.stop();
  rmSync(resultPath(first, refused));
  const second = await fakeDaemonIn(directory);
  expect(await explain(second, refused.turn_id)).toMatchObject({
    rule: "turnd/executor_unavailable",
    on: "turnd",
    evidence: refused.decision.evidence,
  });
});
