import { copyFileSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { listRecordings } from "../executors/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { replayNamed, type SummaryDocument } from "./replay-named.ts";

const FIXTURES = ["cli-a", "cli-b"].flatMap((executor) => listRecordings(join(REPOSITORY, "fixtures"), executor));
const PRINTING = FIXTURES.filter(({ directory }) => statSync(join(directory, "stdout.jsonl")).size > 0);

/** The stdout of every fixture alone, as it is mailed, and what `turnd replay --summary --json` makes of each. */
async function summariseAll(): Promise<{ read: SummaryDocument["recordings"]; faults: readonly string[] }> {
  const mailed = temporaryDirectory(onTestFinished);
  for (const { name, directory } of FIXTURES) {
    mkdirSync(join(mailed, name.split("/").slice(0, 2).join("/")), { recursive: true });
    copyFileSync(join(directory, "stdout.jsonl"), join(mailed, `${name}.jsonl`));
  }
  const { document } = await replayNamed([mailed], { show: "summary", isJson: true });
  const read = document.recordings.map((one) => ({ ...one, recording: one.recording.slice(mailed.length + 1, -6) }));
  return { read, faults: document.faults.map((fault) => fault.slice(mailed.length + 1)) };
}

/** Versions that print in the form of an earlier one. */
const PRINTS_LIKE: Readonly<Record<string, string>> = { "1.18.33": "1.14.34" };

test("the stdout of every fixture alone is recognised, or reported as not recognised, and explained truly", async () => {
  const { read, faults } = await summariseAll();
  const byName = new Map(FIXTURES.map((fixture) => [fixture.name, fixture]));
  expect(read.length + faults.length).toBe(FIXTURES.length);
  // Help text in place of records is of no CLI.
  const untold = PRINTING.filter(({ name }) => !read.some(({ recording }) => recording === name));
  expect(untold.map(({ name }) => name)).toEqual(["cli-a/1.3.2/message-taken-for-flags", "cli-a/1.3.2/unknown-flag"]);
  for (const fault of faults) expect(fault).toMatch(/: (?:is empty|cannot tell whose output it is).*--executor$/);

  const untrue: string[] = [];
  let asLabelled = 0;
  for (const { recording, executor, output_alone: found, ended } of read) {
    const { turn, expected } = byName.get(recording) ?? { turn: undefined, expected: undefined };
    expect([recording, executor]).toEqual([recording, turn?.executor]);
    const version = turn?.cli_version ?? "";
    expect([recording, PRINTS_LIKE[version] ?? version]).toContain(found?.printed_like ?? recording);
    const code = ended.failure?.code ?? null;
    const isTrue = ended.status === expected?.status && [expected.code, ...expected.also].includes(code);
    asLabelled += Number(isTrue);
    // Without its exit, what was stopped from outside cannot be distinguished from what was cut off: that is `unknown`.
    if (!isTrue && code !== "unknown") untrue.push(`${recording} ${expected?.status} ${expected?.code}`);
  }
  // Nothing on stdout shows that another session was asked for.
  expect(untrue.filter((line) => !line.endsWith("failed resume_degraded"))).toEqual([]);
  expect(untrue.length).toBeLessThan(8);
  expect(asLabelled / read.length).toBeGreaterThan(0.85);
});

test("--exit says what stdout does not, and --executor whose it is", async () => {
  const directory = join(REPOSITORY, "fixtures/cli-b/0.139.0");
  const killed = join(directory, "killed-from-outside/stdout.jsonl");
  const exit = { code: null, signal: "SIGKILL" };
  const { document } = await replayNamed([killed], { show: "summary", isJson: true, exit });
  expect(document.recordings[0]?.ended.failure?.code).toBe("crashed");
  const empty = join(directory, "config-not-toml/stdout.jsonl");
  for (const executor of ["cli-b", "codex"]) {
    const replayed = await replayNamed([empty], { show: "summary", executor, exit: { code: 2, signal: null } });
    expect([replayed.code, replayed.printed]).toEqual([0, expect.stringContaining("failed invalid_request")]);
  }
});

test("the explanation of output alone says what it rests on, and nothing of an exit that was not seen", async () => {
  const path = join(REPOSITORY, "fixtures/cli-a/1.14.34/bad-key/stdout.jsonl");
  const { code, printed } = await replayNamed([path], { show: "decision" });
  expect(code).toBe(0);
  expect(printed).toContain(
    `${path}\n  stdout of cli-a\n  its exit is not recorded; --exit says it\n  failed auth_failed\n`,
  );
  expect(printed).toMatch(/\n {2}decided by\n {4}stdout\.jsonl:1 {2}/);
  const completed = join(REPOSITORY, "fixtures/cli-b/0.139.0/text-answer/stdout.jsonl");
  const proof = await replayNamed([completed], { show: "decision" });
  expect(proof.printed).toMatch(
    /completed\n {2}decided by\n {4}stdout\.jsonl:4 {2}"type":"turn\.completed"\n {2}by the rule completed,/,
  );
  expect(proof.printed).not.toContain("exit code 0");
});
