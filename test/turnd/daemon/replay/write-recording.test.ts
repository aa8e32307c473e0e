import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { writeRecording } from "../../../../src/turnd/daemon/replay/write-recording.ts";
import { startAttack } from "../../../harness/attack.ts";
import { temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

const LINE = `${JSON.stringify({ type: "item.completed", item: { type: "agent_message", text: "x".repeat(1_000) } })}\n`;

test.runIf(process.getuid?.() === 0)("who swaps the directory of a recording has root write nowhere else", async () => {
  const base = temporaryDirectory(onTestFinished);
  const from = join(base, "from");
  mkdirSync(from, { mode: 0o700 });
  writeFileSync(join(from, "turn.json"), JSON.stringify({ executor: "cli-b" }));
  writeFileSync(join(from, "exit.json"), JSON.stringify({ code: 0, signal: null }));
  writeFileSync(join(from, "prompt.txt"), "the attacker's own words");
  // Long enough to be written for a while.
  writeFileSync(join(from, "stdout.jsonl"), LINE.repeat(50_000));
  const target = join(base, "target");
  writeFileSync(target, "root's");
  chmodSync(target, 0o600);
  const place = userDirectory(join(base, "place"));
  const attack = await startAttack("swap-recording", join(place, "to"), target);
  await writeRecording(from, join(place, "to"), (text) => text);
  expect(await attack.said).toEqual(["swapped"]);
  expect(readFileSync(target, "utf8")).toBe("root's");
  expect(readdirSync(join(place, "to.gone")).toSorted()).toContain("turn.json");
});
