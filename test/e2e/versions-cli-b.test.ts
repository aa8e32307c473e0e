import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { cliB } from "../../src/turnd/daemon/executors/cli-b/adapter.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { startDaemon } from "../harness/daemon.ts";
import { binaryOf, CLIS_B, realEnv, type RealCli } from "../harness/real-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { whatToDo } from "../harness/unread-features.ts";

/** Features that stay on, for what they do only in a turn that asks for it. A new version's are read before they are listed. */
const LEFT_ON = new Set([
  // Tools of the model, within the sandbox of the turn.
  "shell_tool",
  "unified_exec",
  "unified_exec_tty",
  "view_image",
  "image_generation",
  "write_stdin_approval",
  "tool_call_mcp_elicitation",
  "auth_elicitation",
  "mcp_oauth_refresh_coordination",
  "workspace_dependencies",
  // What a request looks like.
  "enable_request_compression",
  "fast_mode",
  "ultrafast_mode",
  "personality",
  "reasoning_effort_override",
  "content_item_kinds",
  "retain_client_tool_outputs",
  "untrusted_as_tool_output",
  "compaction_image_budget",
  "unified_image_budget",
  "incremental_tools",
  "incremental_tools_legacy",
  "incremental_tools_legacy_gcp",
  "deferred_tool_world_state",
  "prediction_preserve_parent_tools",
  "mentions_v2",
  "instant_interrupt",
  // Approvals that are never asked for, scripts that have no host, and the terminal UI, which no turn starts.
  "guardian_approval",
  "guardian_include_additional_context",
  "guardian_reuse_parent_compaction",
  "code_mode_host_output_truncation",
  "code_mode_interrupt",
  "terminal_resize_reflow",
  "tui_workspace",
  // Off by `agents.enabled`, which this list does not show.
  "multi_agent",
]);

/** What a binary says of its features in a home that turnd has laid out. */
function listFeatures({ version }: RealCli, toml: string): { printed: string; on: string[] } {
  const home = temporaryDirectory(onTestFinished);
  mkdirSync(join(home, "codex"));
  writeFileSync(join(home, "codex/config.toml"), toml);
  const env = { CODEX_HOME: join(home, "codex"), HOME: home, TMPDIR: home };
  const args = cliB.featureQuestion?.args ?? [];
  const printed = execFileSync(binaryOf(version), args, { env, stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" });
  const rows = printed.split("\n").flatMap((line) => /^(\S+) +(\S.*?) +true$/.exec(line)?.slice(1, 3).join(" ") ?? []);
  return { printed, on: rows.filter((row) => !row.endsWith(" removed")).map((row) => row.replace(/ .*/, "")) };
}

describe.each(CLIS_B)("$version", (cli) => {
  test("every feature that is on was looked at and is left on: a new one is read before it runs", () => {
    const configured = cliB.configure({
      env: { CLI_B_API_KEY: "k", CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:9/v1" },
      cliName: "codex",
    });
    if (!configured.ok) throw new Error(configured.errors.join("; "));
    const cliFeatures = cliB.featureQuestion?.read(listFeatures(cli, "").printed);
    if (cliFeatures === undefined) throw new Error("no list of features");
    const { configuration } = configured;
    const turn = { configuration, permissions: {}, mode: "execute" as const, cliFeatures };
    const [file] = cliB.planHome({ home: "/h", cliName: "codex", ...turn }).files;
    const unread = listFeatures(cli, file?.content ?? "").on.filter((name) => !LEFT_ON.has(name));
    expect(unread, whatToDo(cli.version)).toEqual([]);
  });
});

test("a session goes on with the history when the CLI is replaced by a later version, and by the earlier one again", async () => {
  const [older, newer] = [CLIS_B.at(0), CLIS_B.at(-1)];
  if (older === undefined || newer === undefined) throw new Error("no versions");
  const directory = temporaryDirectory(onTestFinished);
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  let sessionId: string | undefined;
  const said: string[] = [];
  for (const [index, cli] of [older, newer, older].entries()) {
    const turnd = await startDaemon({ directory, env: realEnv(cli, model.url) });
    try {
      const input = `Prompt ${index}. @@recall@@`;
      const turn = await turnd.run({
        ...(sessionId === undefined ? { executor: "cli-b" } : { session_id: sessionId }),
        input,
      });
      expect(turn).toMatchObject({ status: "completed", resumed: index > 0, degraded: false });
      expect(JSON.parse(turn.output ?? "")).toMatchObject({ said });
      sessionId = turn.session_id;
      said.push(input);
    } finally {
      await turnd.stop();
    }
  }
});
