import { appendFileSync, truncateSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  followOutput,
  type OutputBatch,
  type TakeBatch,
  type TakenLine,
} from "../../../../src/turnd/daemon/process/output/follow.ts";
import type { SplitLine } from "../../../../src/turnd/daemon/process/output/line-splitter.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { waitFor } from "../../../harness/wait-for.ts";

function files(stdout: string, stderr: string) {
  const directory = temporaryDirectory(onTestFinished);
  const stdoutPath = join(directory, "stdout.jsonl");
  const stderrPath = join(directory, "stderr.log");
  writeFileSync(stdoutPath, stdout);
  writeFileSync(stderrPath, stderr);
  return { stdoutPath, stderrPath, maxLineBytes: 1_000_000 };
}

async function* order(taken: readonly TakenLine[]): AsyncGenerator<TakenLine> {
  yield* taken;
}

const short = ({ source, number, text }: SplitLine): string => `${source}:${number}:${text}`;

async function collect(options: Parameters<typeof followOutput>[0]): Promise<string[]> {
  const lines: string[] = [];
  for await (const batch of followOutput(options)) lines.push(...batch.lines.map(short));
  return lines;
}

test("a complete recording gives stdout before stderr, missing final newlines and all", async () => {
  const lines = await collect({ ...files("a\n\nb", "x\ny"), finished: AbortSignal.abort() });
  expect(lines).toEqual(["stdout:1:a", "stdout:2:", "stdout:3:b", "stderr:1:x", "stderr:2:y"]);
});

test("lines are taken in the order in which they were taken before, then as they come", async () => {
  const taken = order([
    { source: "stderr", line: 1 },
    { source: "stdout", line: 2 },
    { source: "stdout", line: 2 },
    { source: "stderr", line: 2 },
  ]);
  const lines = await collect({ ...files("a\nb\nc\n", "x\ny\nz\n"), taken, finished: AbortSignal.abort() });
  expect(lines).toEqual(["stderr:1:x", "stdout:1:a", "stdout:2:b", "stderr:2:y", "stdout:3:c", "stderr:3:z"]);
});

test("a growing file is followed to its end, and a line is given when its newline is there", async () => {
  const options = files("", "");
  const finished = new AbortController();
  const lines: string[] = [];
  const following = (async () => {
    for await (const batch of followOutput({ ...options, finished: finished.signal })) {
      lines.push(...batch.lines.map(short));
    }
  })();
  appendFileSync(options.stdoutPath, "one\ntw");
  await waitFor("the first line", () => lines.length === 1);
  appendFileSync(options.stderrPath, "warn\n");
  await waitFor("the line of stderr", () => lines.length === 2);
  appendFileSync(options.stdoutPath, "o\n");
  await waitFor("the second line", () => lines.length === 3);
  appendFileSync(options.stdoutPath, "last\nand no newline");
  finished.abort();
  await following;
  expect(lines).toEqual(["stdout:1:one", "stderr:1:warn", "stdout:2:two", "stdout:3:last", "stdout:4:and no newline"]);
});

test("a file of 1 GiB streams through in bounded memory", { timeout: 300_000 }, async () => {
  const options = files("", "");
  const file = await open(options.stdoutPath, "w");
  // Holes read as NUL bytes, so a sparse file is as long as it looks; a newline every 4 MiB makes lines of it.
  for (let offset = 4_194_303; offset < 1_073_741_824; offset += 4_194_304) await file.write("\n", offset);
  await file.close();
  let [bytes, peakBytes] = [0, 0];
  const before = process.memoryUsage().rss;
  for await (const batch of followOutput({ ...options, maxLineBytes: 16_777_216, finished: AbortSignal.abort() })) {
    for (const line of batch.lines) bytes += line.text.length + 1;
    peakBytes = Math.max(peakBytes, process.memoryUsage().rss - before);
  }
  expect(bytes).toBe(1_073_741_824);
  expect(peakBytes).toBeLessThan(400_000_000);
});

test("no file is read beyond the limit, and that it is larger is known", async () => {
  const options = { ...files("one\ntwo\nthree\n", "x\n"), maxBytes: 6 };
  const batches: OutputBatch[] = [];
  for await (const batch of followOutput({ ...options, finished: AbortSignal.abort() })) batches.push(batch);
  expect(batches.flatMap(({ lines }) => lines.map(short))).toEqual(["stdout:1:one", "stdout:2:tw", "stderr:1:x"]);
  expect(batches.at(-1)).toMatchObject({ stdoutBytes: 14, stderrBytes: 2 });
});

test("a file that grows beyond the limit later is reported while nothing else happens", async () => {
  const options = { ...files("one\n", ""), maxBytes: 4 };
  const finished = new AbortController();
  let bytes = 0;
  const following = (async () => {
    for await (const batch of followOutput({ ...options, finished: finished.signal })) bytes = batch.stdoutBytes;
  })();
  await waitFor("the line", () => bytes === 4);
  truncateSync(options.stdoutPath, 1e12);
  await waitFor("its size", () => bytes === 1e12);
  finished.abort();
  await following;
});

/** Follows growing files; what is taken at once is marked. */
function followAtOnce(options: Parameters<typeof followOutput>[0], atOnce: TakeBatch = () => undefined) {
  const lines: string[] = [];
  const take: TakeBatch = (batch) => {
    lines.push(...batch.lines.map((line) => `at once ${short(line)}`));
    return atOnce(batch);
  };
  const following = (async () => {
    for await (const batch of followOutput({ ...options, atOnce: take })) lines.push(...batch.lines.map(short));
  })();
  return { lines, following };
}

test("what comes while nothing else is left is taken at once, each line once and in order", async () => {
  const options = files("", "");
  const finished = new AbortController();
  const { lines, following } = followAtOnce({ ...options, finished: finished.signal });
  for (let number = 1; number <= 200; number += 1) {
    appendFileSync(number % 3 === 0 ? options.stderrPath : options.stdoutPath, `${number}\n`);
    if (number % 5 === 0) await waitFor("all of them", () => lines.length === number);
  }
  appendFileSync(options.stdoutPath, `${"x".repeat(100_000)}\nlast`);
  finished.abort();
  await following;
  const texts = lines.map((line) => line.replace("at once ", ""));
  const of = (source: string): string[] => texts.filter((line) => line.startsWith(source));
  expect(of("stderr")).toEqual(Array.from({ length: 66 }, (_, index) => `stderr:${index + 1}:${3 * (index + 1)}`));
  expect(of("stdout").slice(0, 3)).toEqual(["stdout:1:1", "stdout:2:2", "stdout:3:4"]);
  expect(of("stdout").slice(-2)).toEqual([`stdout:135:${"x".repeat(100_000)}`, "stdout:136:last"]);
  expect(new Set(texts).size).toBe(202);
  expect(lines.filter((line) => line.startsWith("at once")).length).toBeGreaterThan(30);
});

test("no more is taken at once before what was taken is kept", async () => {
  const options = files("", "");
  const finished = new AbortController();
  const kept = Promise.withResolvers<void>();
  const { lines, following } = followAtOnce({ ...options, finished: finished.signal }, () => kept.promise);
  const isTaken = (): boolean => lines.some((line) => line.startsWith("at once"));
  await waitFor("the first of them", () => {
    // The first look at the files may find it.
    if (!isTaken()) appendFileSync(options.stdoutPath, "line\n");
    return isTaken();
  });
  const taken = lines.length;
  appendFileSync(options.stdoutPath, "behind\n");
  appendFileSync(options.stderrPath, "behind\n");
  finished.abort();
  await new Promise(setImmediate);
  expect(lines).toHaveLength(taken);
  kept.resolve();
  await following;
  expect(lines.slice(-2)).toEqual([expect.stringMatching(/^stdout:\d+:behind$/), "stderr:1:behind"]);
});

test("what taking a line throws ends the iteration with it", async () => {
  const options = files("", "");
  const { lines, following } = followAtOnce({ ...options, finished: new AbortController().signal }, () => {
    throw new Error("no room");
  });
  const failed = following.then(
    () => "ended",
    ({ message }: Error) => message,
  );
  await waitFor("a line", () => {
    appendFileSync(options.stdoutPath, "line\n");
    return lines.some((line) => line.startsWith("at once"));
  });
  expect(await failed).toBe("no room");
});

test("a program that prints on and on lets everything else have its turn", async () => {
  const options = files("", "");
  const finished = new AbortController();
  let taken = 0;
  let takenBefore: number | undefined;
  const { lines, following } = followAtOnce({ ...options, finished: finished.signal }, () => {
    taken += 1;
    if (taken === 1) setImmediate(() => (takenBefore = taken));
    // There is a next notice before this one has been dealt with.
    if (taken < 200) appendFileSync(options.stdoutPath, "more\n");
    return undefined;
  });
  await waitFor("the first of them", () => {
    if (taken === 0) appendFileSync(options.stdoutPath, "line\n");
    return taken > 0;
  });
  await waitFor("the last of them", () => taken >= 200);
  finished.abort();
  await following;
  expect(lines.length).toBeGreaterThanOrEqual(200);
  expect(takenBefore).toBeLessThan(5);
});
