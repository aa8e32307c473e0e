import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestDaemon } from "../harness/daemon.ts";
import { KEY, LIGHT_CLI_A, LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Directory, below a session's home, of what a CLI needs to resume. */
const NATIVE_STATE = { "cli-a": "data/opencode", "cli-b": "codex/sessions" } as const;

async function waitForTool(turnd: TestDaemon, turnId: string): Promise<void> {
  await waitFor("a tool that has ended", async () =>
    (await turnd.events(turnId)).some(({ type }) => type === "tool.ended"),
  );
}

// Turns of real CLIs, and two replays of each: minutes on a loaded machine.
const LIMIT = { timeout: 300_000 };

describe.each(LIGHT_CLIS)("$executor $version", LIMIT, (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("an exported turn gives its events again, with tools, resumed, failed, and without the key", async () => {
    const { turnd } = stage();
    const first = await turnd.run({ executor, input: "@@tool-ok:a-word@@" });
    const resumed = await turnd.run({ session_id: first.session_id, input: "@@tool-fail@@" });
    expect(resumed).toMatchObject({ status: "completed", resumed: true });
    for (const { turn_id } of [first, resumed]) {
      const recording = await expectSameAgain(turnd, turn_id);
      expect(recording.turn).toMatchObject({ executor, cli_version: cli.version });
      expect(JSON.stringify(recording)).not.toContain(KEY);
    }
  });
});

describe.each(LIGHT_CLIS)("$executor $version", LIMIT, (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("an exported turn that was cancelled gives its events again", async () => {
    const { turnd } = stage();
    const { turn_id } = await turnd.admit({ executor, input: "@@many:40:1@@" });
    await waitForTool(turnd, turn_id);
    await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
    expect(await expectSameAgain(turnd, turn_id)).toMatchObject({ turn: { ended_by: "cancel" } });
  });

  test("an exported turn that was resumed after kill -9 gives its events again", async () => {
    const { turn_id } = await stage().turnd.admit({ executor, input: "@@many:3:1@@" });
    await waitForTool(stage().turnd, turn_id);
    await stage().end("SIGKILL");
    await stage().start();
    const recording = await expectSameAgain(stage().turnd, turn_id);
    expect(recording.exit).toEqual({ code: 0, signal: null });
  });

  test("an exported turn whose session was lost reports it at the same place", async () => {
    const { turnd } = stage();
    const { session_id } = await turnd.run({ executor, input: "@@text:Noted.@@" });
    const state = join(turnd.state, "sessions", session_id, "home", NATIVE_STATE[executor]);
    for (const name of readdirSync(state)) rmSync(join(state, name), { recursive: true });
    const result = await turnd.run({ session_id, input: "@@text@@" });
    expect(result).toMatchObject({ status: "completed", degraded: true });
    await expectSameAgain(turnd, result.turn_id);
  });
});

describe("cli-a", LIMIT, () => {
  const stage = shareStage(LIGHT_CLI_A);

  test("an exported turn whose store was set aside has its warnings where they were", async () => {
    const { turnd } = stage();
    const { session_id } = await turnd.run({ executor: "cli-a", input: "@@text:Noted.@@" });
    const database = join(turnd.state, "sessions", session_id, "home/data/opencode/opencode.db");
    for (const path of [database, `${database}-wal`]) writeFileSync(path, "garbage, ".repeat(1_000));
    const { turn_id } = await turnd.run({ session_id, input: "@@text@@" });
    const recording = await expectSameAgain(turnd, turn_id);
    expect(recording.timeline).toContainEqual(expect.objectContaining({ type: "warning", code: "state_set_aside" }));
  });
});
