import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { execa } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { printReplays } from "../../../../src/turnd/commands/replay.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

/** What `turnd replay --explain` prints of these directories. */
async function explain(directories: readonly string[], hasRules = false): Promise<string> {
  const parts: string[] = [];
  const out = new Writable({
    write(chunk, _, done) {
      parts.push(String(chunk));
      done();
    },
  });
  const stdin = Readable.from([]);
  await printReplays(directories, {
    show: "decision",
    hasRules,
    executors: EXECUTORS,
    redact: createRedactor(["sk-bad"]),
    stdin,
    out,
    err: out,
  });
  return parts.join("");
}

test("a failure is explained with its advice, its lines and the rules, the winner marked", async () => {
  const recording = [join(REPOSITORY, "fixtures/cli-a/1.3.2/bad-key")];
  const text = await explain(recording, true);
  const lines = text.split("\n");
  expect(lines.slice(1, 3)).toEqual(["  failed auth_failed", "  retryable no, user_action credentials"]);
  expect(lines[3]).toMatch(/^ {2}The provider refused the key \(401\): “.*”; .*\.$/);
  expect(lines[5]).toBe("    stdout.jsonl:1  Incorrect API key provided: [redacted].");
  expect(lines[6]).toBe("  by the rule key-status, on record, seen in cli-a/1.3.2/bad-key");
  // Without being asked for the others it ends there.
  expect((await explain(recording)).trimEnd().split("\n")).toEqual(lines.slice(0, 7));
  const winners = lines.filter((line) => line.startsWith("    > "));
  expect(winners).toEqual([
    expect.stringMatching(/^ {4}> {2}record {2}key-status +auth_failed +won +stdout\.jsonl:1 /),
  ]);
  // One line a rule, its columns under those of the head.
  const head = lines.findIndex((line) => line.includes("verdict"));
  const column = lines[head]?.indexOf("verdict") ?? 0;
  const rules = lines.slice(head + 1).filter((line) => line !== "");
  expect(rules.length).toBeGreaterThan(50);
  for (const line of rules) expect(line.slice(column - 2, column + 1)).toMatch(/^ {2}[a-z–]$/);
});

test("a completed turn is explained by its proof, each recording in a block of its own", async () => {
  const cases = ["cli-b/0.139.0/text-answer", "cli-b/0.139.0/interrupted-in-tool"];
  const text = await explain(cases.map((name) => join(REPOSITORY, "fixtures", name)));
  const [first = "", second = ""] = text.trimEnd().split("\n\n");
  expect(first).toMatch(
    /\n {2}completed\n {2}decided by\n {4}stdout\.jsonl:4 {2}"type":"turn\.completed"\n {4}exit\.json {2}/,
  );
  expect(second).toMatch(
    /\n {2}cancelled request\n {2}decided by\n {4}turn\.json {2}The turn was cancelled by a request\.\n/,
  );
});

test("what a CLI printed cannot steer the terminal", async () => {
  const directory = join(temporaryDirectory(onTestFinished), "case");
  mkdirSync(directory);
  writeFileSync(join(directory, "turn.json"), JSON.stringify({ executor: "cli-b" }));
  writeFileSync(join(directory, "exit.json"), JSON.stringify({ code: 1, signal: null }));
  const message = "boom \u001b]0;title\u0007\u009b2J\r\nsecond line";
  writeFileSync(join(directory, "stdout.jsonl"), `${JSON.stringify({ type: "turn.failed", error: { message } })}\n`);
  writeFileSync(join(directory, "stderr.log"), "");
  const text = await explain([directory]);
  expect(text).toContain("boom ");
  // eslint-disable-next-line no-control-regex -- control characters are what must not be there
  expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
});

test("--explain with --summary is refused, with a word on why", async () => {
  const args = [join(REPOSITORY, "src/turnd/main.ts"), "replay", "--explain", "--summary", "somewhere"];
  const { exitCode, stderr } = await execa(process.execPath, args, { reject: false });
  expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/'--summary' cannot be used with option '--explain'/)]);
});
