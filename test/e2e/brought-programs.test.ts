import { execa } from "execa";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { callTool, type Action } from "../../src/scripted-model/tools.ts";
import { BROUGHT_TEXT } from "../harness/brought-marks.ts";
import { makeBroughtPrograms } from "../harness/brought-programs.ts";
import { startClosedProxy } from "../harness/closed-proxy.ts";
import { binaryOf, CLIS_A, CLIS_B, KEY, shareStage, type RealCli } from "../harness/real-daemon.ts";
import { CLI_USER, userDirectory } from "../harness/temporary.ts";

const ACTIONS: readonly Action[] = [
  { type: "read", path: "notes.ts" },
  { type: "edit", path: "notes.ts", before: "first line", after: "second line" },
  { type: "write", path: "written.py", content: "print(1)\n" },
  { type: "run", command: "cat notes.ts", purpose: "Looks at it" },
];

/** Uses each kind of tool that is offered once, on the repository's files. */
const everyTool: Scenario = (conversation) => {
  const calls = ACTIONS.flatMap((action) => callTool(action, conversation) ?? []);
  const next = calls[currentTurn(conversation).outcomes.length];
  return next === undefined ? say("Done.") : { type: "answer", parts: [next], ending: "stop" };
};

describe.each([...CLIS_A, ...CLIS_B])("$executor $version", async (cli) => {
  const proxy = await startClosedProxy();
  const named = await startClosedProxy();
  afterAll(async () => {
    await proxy.close();
    await named.close();
  });
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
  const stage = shareStage(cli, { env, model: { scenarios: { "every-tool": everyTool } } });
  const { executor } = cli;

  test("of all that a repository brings nothing runs and nothing is asked for, in a plan and in a turn that goes on with it and may do everything", async () => {
    const { turnd, model } = stage();
    const { repository, drainRan } = makeBroughtPrograms(join(turnd.workspace, "brought"), named.url);
    const run = (more: Readonly<Record<string, unknown>>) =>
      turnd.run({ workspace: repository, input: "@@every-tool@@", ...more });
    const planned = await run({ executor, mode: "plan" });
    // A machine whose kernel allows no sandbox cannot plan with CLI B, and says so.
    expect(["completed", "sandbox_unavailable"]).toContain(planned.failure?.code ?? planned.status);
    expect(drainRan()).toEqual([]);
    const worked = await run(planned.status === "completed" ? { session_id: planned.session_id } : { executor });
    expect(worked).toMatchObject({ status: "completed", resumed: planned.status === "completed" });
    expect(drainRan()).toEqual([]);
    expect(proxy.asked).toEqual([]);
    expect(named.asked).toEqual([]);
    const sent = JSON.stringify(model.requests.map(({ body }) => body));
    expect(sent).toContain("written.py");
    // CLI B reads texts of a repository for the model; CLI A is given none.
    if (executor === "cli-a") expect(sent).not.toContain(BROUGHT_TEXT);
  });
});

/** Runs a program as the CLIs' user. */
async function runAsUser(command: readonly string[], options: { cwd: string; env?: Record<string, string> }) {
  const [setpriv = "", ...words] = asUser(CLI_USER, command);
  const env = { PATH: "/usr/bin:/bin", ...options.env };
  return execa(setpriv, words, { cwd: options.cwd, extendEnv: false, env, input: "hello" });
}

describe("what keeps it from running is turnd:", () => {
  /** A stage that lets what the repository asks for come to nothing. */
  const shareOpenStage = (cli: RealCli) =>
    shareStage(cli, { env: { TURND_ALLOW_WORKSPACE_PLUGINS: "1" }, model: { scenarios: { "every-tool": everyTool } } });
  const nowhere = "http://127.0.0.1:9";

  describe.each(CLIS_A)("$version without the guard", (cli) => {
    const stage = shareOpenStage(cli);

    test("runs a module that the repository names, and git the command that fetches a commit, in a plan too", async () => {
      const { turnd } = stage();
      const { repository, drainRan } = makeBroughtPrograms(join(turnd.workspace, "brought"), nowhere);
      const turn = { executor: "cli-a", workspace: repository, mode: "plan", input: "@@every-tool@@" };
      expect(await turnd.run(turn)).toMatchObject({ status: "completed" });
      expect(drainRan()).toEqual(expect.arrayContaining(["git remote", "preload"]));
    });
  });

  describe.each(CLIS_B.slice(0, 1))("$version where the repository is trusted", (cli) => {
    const stage = shareOpenStage(cli);

    test("starts its MCP server, and git runs its filters and its file monitor", async () => {
      const { turnd, model } = stage();
      const { repository, drainRan } = makeBroughtPrograms(join(turnd.workspace, "brought"), nowhere);
      const home = userDirectory(join(turnd.workspace, "home"));
      const provider = `{name="own",base_url="${model.url}",wire_api="responses",env_key="CLI_B_API_KEY"}`;
      const settings = [`projects={"${repository}"={trust_level="trusted"}}`, `model_providers={own=${provider}}`];
      const options = [...settings, 'model_provider="own"', 'model="scripted"'].flatMap((pair) => ["-c", pair]);
      await runAsUser([binaryOf(cli.version), "exec", "--json", ...options, "-"], {
        cwd: repository,
        env: { HOME: home, CODEX_HOME: home, CLI_B_API_KEY: KEY },
      });
      expect(drainRan()).toContain("cli-b mcp server");
      await runAsUser(["git", "status", "--porcelain"], { cwd: repository });
      expect(drainRan()).toEqual(expect.arrayContaining(["git clean", "git core.fsmonitor"]));
    });
  });
});
