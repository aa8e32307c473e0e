import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { startClosedProxy } from "../harness/closed-proxy.ts";
import { binaryOf, CLI_B, CLIS_B, KEY, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, userDirectory, userFile } from "../harness/temporary.ts";

/** What a tool finds of the repository, and of what keeps the CLI itself away from it. */
const useGit: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(outcome.output);
  const command = 'git rev-parse --is-inside-work-tree; echo "git dir is ${GIT_DIR-unset}"';
  return act(conversation, { type: "run", command, purpose: "Looks at the repository" });
};

const proxy = await startClosedProxy();
afterAll(() => proxy.close());

/** A repository that has everything that the CLI is known to read in one. */
function plantConfiguration(directory: string, marks: string): string {
  const touch = (name: string): string => `["/usr/bin/touch", "${join(marks, name)}"]`;
  const skill = (name: string): string => `---\nname: planted\ndescription: PLANTED-${name}\n---\nPLANTED-${name}\n`;
  const hook = { hooks: [{ type: "command", command: `touch ${join(marks, "hook")}` }] };
  const files: Record<string, string> = {
    ".codex/config.toml": `model = "PLANTED-MODEL"
developer_instructions = "PLANTED-INSTRUCTIONS"
notify = ${touch("notify")}
[mcp_servers.planted]
command = "/usr/bin/touch"
args = ["${join(marks, "server")}"]
[features]
hooks = true
`,
    ".codex/hooks.json": JSON.stringify({ hooks: { SessionStart: [hook], UserPromptSubmit: [hook], Stop: [hook] } }),
    ".codex/AGENTS.md": "PLANTED-AGENTS-IN-CODEX",
    ".codex/rules/default.rules": 'prefix_rule(pattern=["echo"], decision="forbidden", justification="PLANTED-RULE")',
    ".codex/skills/planted/SKILL.md": skill("SKILL-OF-CODEX"),
    ".agents/skills/planted/SKILL.md": skill("SKILL-OF-AGENTS"),
    ".codex/agents/planted.toml": 'name = "planted"\ndescription = "PLANTED-AGENT"\ndeveloper_instructions = "x"\n',
    "AGENTS.override.md": "PLANTED-OVERRIDE",
  };
  userDirectory(directory);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  execFileSync("git", ["init", "--quiet"], { cwd: directory });
  execFileSync("chown", ["-R", `${CLI_USER.uid}:${CLI_USER.gid}`, directory]);
  return directory;
}

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

const SOURCES = ["the variables", "a whole file with features.goals"] as const;
/** What a whole file asks for, turnd overrides by the same arguments in all versions. */
const KINDS = [
  ...CLIS_B.map(({ version }) => ({ version, source: SOURCES[0] })),
  { version: CLI_B.version, source: SOURCES[1] },
];

describe.each(KINDS)("$version configured by $source", ({ version, source }) => {
  const stage = shareStage(
    { executor: "cli-b", version },
    {
      model: { scenarios: { "use-git": useGit } },
      env: (modelUrl) => ({
        HTTP_PROXY: proxy.url,
        HTTPS_PROXY: proxy.url,
        ...(source === "the variables" ? {} : { CLI_B_CONFIG_TOML: toml(modelUrl) }),
      }),
    },
  );

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
    const [setpriv = "", ...command] = asUser(CLI_USER, [binaryOf(version), ...args, "resume"]);
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

  test("nothing that a repository brings for the CLI is run or configures it; texts for the model are read", async () => {
    const { turnd, model } = stage();
    const marks = userDirectory(join(turnd.workspace, "marks"));
    const workspace = plantConfiguration(join(turnd.workspace, "hostile"), marks);
    const before = model.requests.length;
    expect(await turnd.run({ executor: "cli-b", workspace, input: "@@text@@" })).toMatchObject({ status: "completed" });
    expect(readdirSync(marks)).toEqual([]);
    const asked = JSON.stringify(model.requests.slice(before).map(({ body }) => body));
    const sent = new Set(asked.match(/PLANTED-[A-Z-]+/g) ?? []);
    // Since 0.169.0 an untrusted repository's AGENTS files are not.
    const texts = ["PLANTED-SKILL-OF-AGENTS", "PLANTED-SKILL-OF-CODEX"];
    expect([...sent].toSorted()).toEqual(version === "0.139.0" ? ["PLANTED-OVERRIDE", ...texts] : texts);
    expect(proxy.asked).toEqual([]);
  });
});
