import { existsSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, describe, expect, inject, test } from "vitest";
import { asUser } from "../../src/daemon/process/run-as.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { startClosedProxy } from "../harness/closed-proxy.ts";
import { CLI_B, KEY, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, userFile } from "../harness/temporary.ts";

/** What a tool finds of the repository, and of what keeps the CLI itself away from it. */
const useGit: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(outcome.output);
  const command = 'git rev-parse --is-inside-work-tree; echo "git dir is ${GIT_DIR-unset}"';
  return act(conversation, { type: "run", command, purpose: "Looks at the repository" });
};

const proxy = await startClosedProxy();
afterAll(() => proxy.close());

/** An operator's whole file that asks for what turnd cannot run with. */
const toml = (modelUrl: string): string => `
model = "scripted"
model_provider = "mine"
sandbox_mode = "danger-full-access"
[model_providers.mine]
name = "mine"
base_url = "${modelUrl}"
wire_api = "responses"
env_key = "CLI_B_API_KEY"
[features]
goals = true
`;

describe.each(["the variables", "a whole file with features.goals"])("configured by %s", (source) => {
  const stage = shareStage(CLI_B, {
    model: { scenarios: { "use-git": useGit } },
    env: (modelUrl) => ({
      HTTP_PROXY: proxy.url,
      HTTPS_PROXY: proxy.url,
      ...(source === "the variables" ? {} : { CLI_B_CONFIG_TOML: toml(modelUrl) }),
    }),
  });

  test("a model that asks for a goal gets none, and the next prompt is answered", async () => {
    const { turnd } = stage();
    const { session_id, output } = await turnd.run({ executor: "cli-b", input: "@@goal@@" });
    expect(output).toContain("no tool on offer");
    const next = await turnd.run({ session_id, input: "My word is quince. @@recall@@" });
    expect(next).toMatchObject({ status: "completed", resumed: true, output: expect.stringContaining("quince") });
  });

  test("a thread that has a goal already answers its prompt and ends", async () => {
    const { turnd, model } = stage();
    const { session_id, native_session_id } = await turnd.run({ executor: "cli-b", input: "@@text:Noted.@@" });
    // As a CLI without turnd would: a person in the terminal, an older turnd.
    const home = join(turnd.state, "sessions", session_id, "home");
    const args = ["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access", "-c", "features.goals=true"];
    const [setpriv = "", ...command] = asUser(CLI_USER, [inject("clis")["0.139.0"], ...args, "resume"]);
    await execa(setpriv, [...command, native_session_id ?? "", "-"], {
      input: "@@goal@@",
      cwd: turnd.workspace,
      extendEnv: false,
      env: { PATH: "/usr/bin:/bin", HOME: home, CODEX_HOME: join(home, "codex"), CLI_B_API_KEY: KEY },
    });
    expect(JSON.stringify(model.requests.at(-1)?.body)).toContain('\\"status\\":\\"active\\"');

    const before = model.requests.length;
    const next = await turnd.run({ session_id, input: "My word is quince. @@recall@@", timeout_ms: 30_000 });
    expect(next).toMatchObject({ status: "completed", resumed: true, native_session_id });
    expect(JSON.parse(next.output ?? "").now).toBe("My word is quince. @@recall@@");
    expect(model.requests.length - before).toBe(1);
  });

  test("nothing of a repository is sent or run by the CLI itself, no other server is called; its tools see the repository", async () => {
    const { turnd, model } = stage();
    const git = async (...args: string[]): Promise<unknown> => {
      const [setpriv = "", ...command] = asUser(CLI_USER, ["git", ...args]);
      return execa(setpriv, command, { cwd: turnd.workspace, extendEnv: false, env: { PATH: "/usr/bin:/bin" } });
    };
    const file = join(turnd.workspace, "filtered.txt");
    const marker = join(turnd.workspace, "filter-ran");
    await git("init", "--quiet");
    await git("remote", "add", "origin", "https://user:REMOTE-TOKEN@git.example/a/b.git");
    writeFileSync(file, "one\n");
    writeFileSync(join(turnd.workspace, ".gitattributes"), "*.txt filter=mark\n");
    for (const path of [file, join(turnd.workspace, ".gitattributes")]) userFile(path);
    await git("add", ".");
    await git("-c", "user.name=a", "-c", "user.email=a@example", "commit", "--quiet", "-m", "one");
    await git("config", "filter.mark.clean", `touch ${marker}; cat`);
    // As long as git knows it and of another time: git has to look into it, through the filter.
    writeFileSync(file, "two\n");
    utimesSync(file, 1, 1);

    const before = model.requests.length;
    const { output } = await turnd.run({ executor: "cli-b", input: "@@use-git@@" });
    expect(output).toContain("true\ngit dir is unset");
    const requests = model.requests.slice(before);
    expect(requests.length).toBeGreaterThan(0);
    expect(JSON.stringify(requests)).not.toContain("REMOTE-TOKEN");
    expect(existsSync(marker)).toBe(false);
    expect(proxy.asked).toEqual([]);
    // What would have shown it: git itself runs the filter here.
    await git("status", "--porcelain");
    expect(existsSync(marker)).toBe(true);
  });
});
