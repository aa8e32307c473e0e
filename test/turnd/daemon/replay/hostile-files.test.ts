import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync, appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { printReplays } from "../../../../src/turnd/commands/replay.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

const FIXTURE = join(REPOSITORY, "fixtures/cli-b/0.139.0/shell-succeeds");

/** A copy of a fixture, and what `turnd replay` says of it when it was changed. */
function copied() {
  const directory = join(temporaryDirectory(onTestFinished), "recording");
  cpSync(FIXTURE, directory, { recursive: true });
  return directory;
}

async function replay(directories: readonly string[], show: "events" | "summary" = "events") {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const [printed, stderr] = [text(out), text(err)];
  const code = await printReplays(directories, {
    stdin: Readable.from([]),
    show,
    executors: EXECUTORS,
    redact: (line) => line,
    out,
    err,
  });
  out.end();
  err.end();
  return { code, events: (await printed).trimEnd().split("\n"), stderr: await stderr };
}

const ODD: Readonly<Record<string, (path: string) => void>> = {
  "a directory": (path) => mkdirSync(path),
  "a pipe": (path) => void execFileSync("mkfifo", [path]),
  "a link to a device": (path) => symlinkSync("/dev/zero", path),
};

for (const [kind, make] of Object.entries(ODD)) {
  test.each(["turn.json", "exit.json", "stdout.jsonl", "stderr.log", "events.jsonl"])(
    `${kind} in the place of %s is refused by name, and the next recording is replayed`,
    async (file) => {
      const directory = copied();
      rmSync(join(directory, file));
      make(join(directory, file));
      const { code, events, stderr } = await replay([directory, FIXTURE]);
      expect([code, stderr]).toEqual([1, `turnd: ${join(directory, file)}: is not a regular file\n`]);
      expect(events.at(-1)).toContain('"status":"completed"');
    },
  );
}

test("a link to a file is as good as the file", async () => {
  const directory = copied();
  rmSync(join(directory, "stdout.jsonl"));
  symlinkSync(join(FIXTURE, "stdout.jsonl"), join(directory, "stdout.jsonl"));
  expect(await replay([directory])).toMatchObject({ code: 0, stderr: "" });
});

test.each([
  ["turn.json", '{"v":2,"executor":"cli-b"}', "written by a newer turnd"],
  ["turn.json", "", "is not JSON"],
  ["turn.json", "[]", "expected object"],
  ["turn.json", '{"executor":"../c"}', "executor"],
  ["exit.json", '{"code":0,', "is not JSON"],
  ["exit.json", '{"code":"0","signal":null}', "code"],
  ["exit.json", "null", "expected object"],
  ["events.jsonl", "not an event\n", "line 1 of the event log has no type"],
  ["events.jsonl", '{"v":1,"type":"message","native":{"line":-1}}\n', "native.line"],
])("%s that reads %s is reported by name", async (file, content, reason) => {
  const directory = copied();
  writeFileSync(join(directory, file), content);
  const { code, stderr } = await replay([directory]);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^turnd: ${join(directory, file)}.*\n$`));
  expect(stderr).toContain(reason);
});

test("a recording of a CLI that this turnd does not have is refused, and the ones it has are listed", async () => {
  const directory = copied();
  writeFileSync(join(directory, "turn.json"), '{"executor":"cli-c"}');
  expect(await replay([directory])).toMatchObject({
    code: 1,
    stderr: `turnd: ${directory}: is of cli-c; this turnd knows cli-a, cli-b\n`,
  });
});

test.each(["{", "5", '{"status":5}'])("a label that reads %s is reported by name", async (content) => {
  const directory = copied();
  writeFileSync(join(directory, "expected.json"), content);
  const { code, stderr } = await replay([directory], "summary");
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`^turnd: ${join(directory, "expected.json")}: .*\n$`));
});

test("without exit.json the end is unknown, and what was printed is still reported", async () => {
  const directory = copied();
  rmSync(join(directory, "exit.json"));
  const { code, events } = await replay([directory]);
  const whole = await replay([FIXTURE]);
  expect(code).toBe(0);
  expect(events).toHaveLength(whole.events.length);
  expect(events.at(-1)).toContain('"code":"daemon_stopped"');
});

test.each(["stdout.jsonl", "stderr.log", "each of its files"])(
  "a recording of which %s is empty ends as what is left shows",
  async (file) => {
    const directory = copied();
    rmSync(join(directory, "events.jsonl"));
    for (const name of ["stdout.jsonl", "stderr.log"])
      if (file === name || file === "each of its files") writeFileSync(join(directory, name), "");
    const { code, events } = await replay([directory]);
    expect(code).toBe(0);
    expect(events.at(-1)).toContain(file === "stderr.log" ? '"status":"completed"' : '"status":"failed"');
  },
);

test("events that are torn, or of another output, change the order alone", async () => {
  const directory = copied();
  const whole = await replay([directory]);
  const types = (events: readonly string[]) => events.map((line) => /"type":"([a-z.]+)"/.exec(line)?.[1]);
  const path = join(directory, "events.jsonl");
  const logged = readFileSync(path, "utf8");
  for (const content of [
    logged.slice(0, -30),
    logged.replaceAll(/"line":\d+/g, '"line":900719925474099'),
    logged + logged,
  ]) {
    writeFileSync(path, content);
    const { code, events, stderr } = await replay([directory]);
    expect([code, stderr, types(events)]).toEqual([0, "", types(whole.events)]);
  }
  appendFileSync(join(directory, "stdout.jsonl"), "one line more\n");
  expect((await replay([directory])).events).toHaveLength(whole.events.length + 1);
});
