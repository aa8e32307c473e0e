import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { CLI_VERSIONS } from "../../../harness/cli-versions.ts";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { lookAtExecutor } from "../../../harness/look-at-executor.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";

/** What the image takes, and so what is known. */
const CLI_A = CLI_VERSIONS.opencode.image;
const CLI_B = CLI_VERSIONS.codex.image;
const NEW_TYPE = '{"type":"item.completed","item":{"id":"item_0","type":"dream"}}';
const NEW_FIELD = '{"type":"turn.started","mood":"good"}';

test("an executor reports unknown output of the turns since the start", async () => {
  const daemon = await fakeDaemon();
  const drift = async () => (await lookAtExecutor(daemon, "cli-b")).drift;
  expect(await drift()).toEqual([]);

  const known = await daemon.run({ executor: "cli-b", input: "tool ls\nsaid back" });
  expect(known.status).toBe("completed");
  const [{ records, ...page }] = await drift();
  expect(page).toEqual({ cli_version: "0.139.0", known_version: CLI_B, entries: [], more: 0 });
  expect(records).toBeGreaterThan(4);

  const { turn_id } = await daemon.run({
    executor: "cli-b",
    input: `raw ${NEW_TYPE}\nraw ${NEW_FIELD}\nraw ${NEW_TYPE}`,
  });
  const [{ entries }] = await drift();
  expect(entries).toEqual([
    { what: "type", name: "item.completed/dream", count: 2, first_seen: { in: turn_id, line: 3 } },
    { what: "field", name: "turn.started mood", count: 1, first_seen: { in: turn_id, line: 4 } },
  ]);
});

async function summarise(...directories: readonly string[]): Promise<string> {
  const { stdout } = await execa(process.execPath, [inject("turnd"), "replay", "--summary", ...directories]);
  return stdout.slice(stdout.indexOf("drift "));
}

test("a summary ends with the unknown records of the recordings, by version", async () => {
  const recordings = [
    `cli-a/${CLI_A}/edit-after-read`,
    `cli-b/${CLI_B}/shell-succeeds`,
    "cli-b/0.139.0/shell-succeeds",
  ];
  const printed = await summarise(...recordings.map((name) => join("fixtures", name)));
  expect(printed.replaceAll(/\d+ records/g, "n records").split("\n")).toEqual([
    `drift cli-a ${CLI_A}: nothing unknown in n records`,
    `drift cli-b ${CLI_B}: nothing unknown in n records`,
    `drift cli-b 0.139.0 beside ${CLI_B}: nothing unknown in n records`,
  ]);

  const copy = join(temporaryDirectory(onTestFinished), "copy");
  cpSync(join(REPOSITORY, "fixtures/cli-b/0.139.0/shell-succeeds"), copy, { recursive: true });
  const turn = JSON.parse(readFileSync(join(copy, "turn.json"), "utf8"));
  writeFileSync(join(copy, "turn.json"), JSON.stringify({ ...turn, cli_version: "0.200.0" }));
  const odd = '{"type":"\\u001b[2Jnew"}';
  const lines = readFileSync(join(copy, "stdout.jsonl"), "utf8").split("\n");
  writeFileSync(join(copy, "stdout.jsonl"), [lines[0], NEW_TYPE, NEW_TYPE, odd, ...lines.slice(1)].join("\n"));
  expect((await summarise(copy)).split("\n")).toEqual([
    `drift cli-b 0.200.0 beside ${CLI_B}: 2 unknown in ${lines.filter((line) => line !== "").length + 3} records`,
    `  type   item.completed/dream  2x, first in ${copy}:2`,
    `  type   "\\u001b[2Jnew"  1x, first in ${copy}:4`,
  ]);
});
