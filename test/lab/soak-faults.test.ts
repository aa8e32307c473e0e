import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { Admitted } from "../../lab/soak/turnd/play-turn.ts";
import { faultsOfState, inspectDeleted, inspectTurn, leftovers } from "../../lab/soak/turnd/find-faults.ts";
import { startKept } from "../../src/turnd/daemon/process/keeper/keeper.ts";
import { startDaemon, type TestDaemon } from "../harness/daemon.ts";
import { fakeEnv } from "../harness/fake-env.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** One daemon for all; each test damages turns of its own. */
let turnd: TestDaemon;
const admitted: Admitted[] = [];

beforeAll(async () => {
  const directory = temporaryDirectory(afterAll);
  turnd = await startDaemon({ directory, env: fakeEnv(directory) });
});
afterAll(() => turnd.stop());

/** A sound turn, as the soak knows it, and its `events.jsonl`. */
async function playSoundTurn(): Promise<{ turn: Admitted; log: string }> {
  const result = await turnd.run({ executor: "cli-b", input: "hello\ntool ls\nbye" });
  const witness = join(temporaryDirectory(onTestFinished), "witness");
  writeFileSync(witness, "ran\n");
  const turn = {
    requestId: result.request_id,
    turnId: result.turn_id,
    sessionId: result.session_id,
    witness,
    lastSeq: result.counts.events,
  };
  admitted.push(turn);
  return { turn, log: join(turnd.state, "sessions", turn.sessionId, "turns", turn.turnId, "events.jsonl") };
}

function change(log: string, edit: (lines: string[]) => string[]): void {
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  writeFileSync(log, `${edit(lines).join("\n")}\n`);
}

test("a sound turn has no fault", async () => {
  const { turn } = await playSoundTurn();
  expect(inspectTurn(turnd, turn)).toEqual({ ending: "completed", faults: [] });
  expect(faultsOfState(turnd, admitted)).toEqual([]);
});

test("an event that is gone from the log is found by seq, by digest and by its reader", async () => {
  const { turn, log } = await playSoundTurn();
  change(log, (lines) => lines.toSpliced(1, 1));
  expect(inspectTurn(turnd, turn).faults).toEqual([
    expect.stringContaining("seq is not dense"),
    expect.stringContaining(`the reader saw ${turn.lastSeq}`),
    expect.stringContaining("digest"),
  ]);
});

test("an event whose bytes changed is found by the digest", async () => {
  const { turn, log } = await playSoundTurn();
  change(log, (lines) => lines.map((line) => line.replace('"bye"', '"Bye"')));
  expect(inspectTurn(turnd, turn).faults).toContainEqual(expect.stringContaining("digest"));
});

test.each([
  ["no turn.ended", (lines: string[]) => lines.slice(0, -1), "0 turn.ended"],
  ["two", (lines: string[]) => [...lines, ...lines.slice(-1)], "2 turn.ended"],
])("a log with %s is found", async (_name, edit, fault) => {
  const { turn, log } = await playSoundTurn();
  change(log, edit);
  expect(inspectTurn(turnd, turn)).toEqual({ ending: "none", faults: [expect.stringContaining(fault)] });
});

test("a request that was executed twice, or completed without being executed, is found", async () => {
  const { turn } = await playSoundTurn();
  appendFileSync(turn.witness, "ran\n");
  expect(inspectTurn(turnd, turn).faults).toContainEqual(expect.stringContaining("was executed 2 times"));
  const unexecuted = inspectTurn(turnd, { ...turn, witness: `${turn.witness}.none` });
  expect(unexecuted.faults).toEqual([expect.stringContaining("completed, but was executed 0 times")]);
});

test("a turn that no client asked for is found", async () => {
  const { log } = await playSoundTurn();
  const unknown = join(dirname(dirname(log)), "unknown-turn");
  cpSync(dirname(log), unknown, { recursive: true });
  onTestFinished(() => rmSync(unknown, { recursive: true }));
  expect(faultsOfState(turnd, admitted)).toEqual(["no client asked for turn unknown-turn"]);
});

test("a turn of a deleted session has no fault; one that is there all the same is found", async () => {
  const { turn } = await playSoundTurn();
  expect(await inspectDeleted(turnd, turn)).toEqual([
    expect.stringContaining("of a deleted session answers 200"),
    expect.stringMatching(/^request .* is answered 409/),
  ]);
  await turnd.request("DELETE", `/v1/sessions/${turn.sessionId}`);
  expect(await inspectDeleted(turnd, turn)).toEqual([]);
  admitted.splice(admitted.indexOf(turn), 1);
});

test("a process that was left is found until it is gone", async () => {
  const directory = dirname(turnd.state);
  const mark = "2987654";
  await waitFor("an idle daemon", () => leftovers(turnd, directory, mark).length === 0);
  const left = spawn("sleep", [mark], { stdio: "ignore" });
  onTestFinished(() => void left.kill("SIGKILL"));
  await once(left, "spawn");
  const fault = `process ${left.pid}: sleep ${mark} `;
  await waitFor("the process to be found", () => leftovers(turnd, directory, mark).includes(fault));
  left.kill("SIGKILL");
  await waitFor("nothing left", () => leftovers(turnd, directory, mark).length === 0);
});

test("a keeper that was left is found until it is gone", async () => {
  const root = dirname(turnd.state);
  const directory = join(root, "left-behind");
  mkdirSync(directory);
  writeFileSync(join(directory, "prompt.txt"), "");
  const look = (): string[] => leftovers(turnd, root, "2987654");
  await waitFor("an idle daemon", () => look().length === 0);
  const keeperPath = join(REPOSITORY, "sandbox/keeper");
  const command = ["/bin/sleep", "300"];
  const left = await startKept({ keeperPath, directory, command, env: {}, cwd: "/", runAs: CLI_USER });
  process.kill(left.keeperPid, "SIGSTOP");
  process.kill(left.pid, "SIGKILL");
  await waitFor("the keeper to be found alone", () => look().length === 1);
  expect(look()).toEqual([expect.stringMatching(`^process ${left.keeperPid}: turnd-keeper ${directory} *$`)]);
  process.kill(left.keeperPid, "SIGCONT");
  await waitFor("nothing left", () => look().length === 0);
});

test("a turn's file that the daemon holds open is found", async () => {
  const { turn_id } = await turnd.admit({ executor: "cli-b", input: "sleep 300" });
  const look = (): string[] => leftovers(turnd, dirname(turnd.state), "2987654");
  await waitFor("the file to be found", () => look().some((fault) => /^the daemon holds .*events\.jsonl$/.test(fault)));
  await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  await waitFor("nothing left", () => look().length === 0);
});
