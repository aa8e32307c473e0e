import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { appendLines, finishAppending } from "../../../../../src/turnd/daemon/turns/run/pending-lines.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const BEFORE = '{"type":"step_start"}\n';
const LINES = ['{"type":"turnd.recovered","records":1}', `{"type":"text","text":"${"é".repeat(20)}"}`];
const AFTER = `${BEFORE}${LINES.join("\n")}\n`;

function turnDirectory(stdout: string): { directory: string; stdout: () => string } {
  const directory = temporaryDirectory(onTestFinished);
  const path = join(directory, "stdout.jsonl");
  writeFileSync(path, stdout);
  return { directory, stdout: () => readFileSync(path, "utf8") };
}

test("lines are appended as a whole, and nothing else is left", async () => {
  const turn = turnDirectory(BEFORE);
  expect(await appendLines(turn.directory, LINES)).toBe(true);
  expect(turn.stdout()).toBe(AFTER);
  expect(existsSync(join(turn.directory, "recovered.json"))).toBe(false);
});

test("an append that was cut off at any byte is finished, however often that is cut off too", async () => {
  const whole = Buffer.from(AFTER);
  const pending = JSON.stringify({ base: BEFORE.length, text: `${LINES.join("\n")}\n` });
  for (let cut = BEFORE.length; cut <= whole.length; cut += 1) {
    const turn = turnDirectory("");
    writeFileSync(join(turn.directory, "stdout.jsonl"), whole.subarray(0, cut));
    writeFileSync(join(turn.directory, "recovered.json"), pending);
    await finishAppending(turn.directory);
    expect(turn.stdout(), `cut at ${cut}`).toBe(AFTER);
    await finishAppending(turn.directory);
    expect(turn.stdout()).toBe(AFTER);
  }
});

test("nothing is put behind half a line", async () => {
  const turn = turnDirectory(`${BEFORE}{"type":`);
  expect(await appendLines(turn.directory, LINES)).toBe(false);
  expect(turn.stdout()).toBe(`${BEFORE}{"type":`);
});

test("lines can be the first ones", async () => {
  const turn = turnDirectory("");
  expect(await appendLines(turn.directory, LINES)).toBe(true);
  expect(turn.stdout()).toBe(AFTER.slice(BEFORE.length));
});
