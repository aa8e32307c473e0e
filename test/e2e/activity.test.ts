import { execa } from "execa";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { runCommand } from "../turnd/commands/client/commands.ts";
import { LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";
import { temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const LIMIT = { timeout: 180_000 };

describe.each(LIGHT_CLIS)("$executor $version", ({ executor, version }) => {
  const stage = shareStage({ executor, version });

  test("a turn whose tool sleeps shows the command that it waits for", LIMIT, async () => {
    const { turnd } = stage();
    const { turn_id: turnId } = await turnd.admit({ executor, input: "@@sleep:600@@" });
    const running = await waitFor("the command", async () => {
      const { body } = await turnd.request("GET", `/v1/turns/${turnId}`);
      // CLI A looks through the workspace first, by a program of its own.
      return /\bsleep 600\b/.test(body.running_command?.command) ? body.running_command : undefined;
    });
    expect(running.running_ms).toBeGreaterThanOrEqual(0);
    const { exitCode, stdout } = await runCommand(turnd.url, ["show", turnId]);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^last event +.* ago \([a-z.]+\)$/m)]);
    expect(stdout).toMatch(/^waits for +.*\bsleep 600\b.*, for \d/m);
    await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
    const { body } = await turnd.request("GET", `/v1/turns/${turnId}`);
    expect([body.status, body.running_command]).toEqual(["cancelled", undefined]);
  });

  test("a turn whose provider does not answer shows that it waits for the model", LIMIT, async () => {
    const { turnd } = stage();
    const { turn_id: turnId } = await turnd.admit({ executor, input: "@@hang@@" });
    const shown = await waitFor("what it waits for", async () => {
      const { stdout } = await runCommand(turnd.url, ["show", turnId]);
      return /^waits for/m.test(stdout) ? stdout : undefined;
    });
    expect(shown).toMatch(/^waits for +the model, for \d/m);
    await turnd.request("POST", `/v1/turns/${turnId}/cancel`);
  });

  test("a turn in a workspace that is in no repository has a diff, which applies", LIMIT, async () => {
    const { turnd } = stage();
    const workspace = userDirectory(join(turnd.workspace, "no-repository"));
    const input = "Write a program that adds the numbers from 1 to 10, and run it.";
    const result = await turnd.run({ executor, input, workspace, diff: true });
    expect(result).toMatchObject({ status: "completed" });
    const { stdout: patch } = await runCommand(turnd.url, ["show", "--diff", result.turn_id]);
    expect(patch).toMatch(/^diff --git a\/sum\.sh b\/sum\.sh\nnew file mode /);
    expect(existsSync(join(workspace, ".git"))).toBe(false);
    const other = temporaryDirectory(onTestFinished);
    await execa("git", ["apply", "-"], { cwd: other, input: `${patch}\n` });
    expect(readFileSync(join(other, "sum.sh"), "utf8")).toBe(readFileSync(join(workspace, "sum.sh"), "utf8"));
  });
});
