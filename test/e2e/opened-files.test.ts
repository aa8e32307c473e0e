import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { cliB } from "../../src/turnd/daemon/executors/cli-b/adapter.ts";
import * as state from "../../src/turnd/daemon/executors/cli-b/config/home-state.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { binaryOf, CLIS_B, KEY, type RealCli } from "../harness/real-daemon.ts";
import { temporaryDirectory, userDirectory } from "../harness/temporary.ts";
import { hasStrace, isListed, layOut, namesBelow, traceRun } from "../harness/traced-cli.ts";

/**
 * What a binary looks for in its directory and does not make itself. Before every turn it is not there: all but what
 * `home-state.ts` keeps is removed. A name that is new is read in the CLI's source before it is listed.
 */
const LOOKED_FOR = [
  ".env",
  "AGENTS.md",
  "AGENTS.override.md",
  "agents",
  "archived_sessions",
  "auth.json",
  "environments.toml",
  "memories_v2_1.sqlite",
  "rules",
  "session_index.jsonl",
  // Of a plugin: looked for in every directory above one that holds skills.
  ".claude-plugin",
  ".codex-plugin",
  ".cursor-plugin",
];

interface Home {
  readonly home: string;
  /** Runs a turn. @returns paths that it named in system calls, with what it looked for in vain */
  run(resume?: string): Promise<string[]>;
}

async function prepareHome({ version }: RealCli): Promise<Home> {
  const directory = temporaryDirectory(onTestFinished);
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  const [home, workspace, userHome] = ["home", "work", "user"].map((name) => userDirectory(join(directory, name)));
  if (home === undefined || workspace === undefined || userHome === undefined) throw new Error("no directories");
  const env = { CLI_B_API_KEY: KEY, CLI_B_MODEL: "scripted", CLI_B_BASE_URL: model.url };
  const configured = cliB.configure({ env: { ...env, CLI_B_SANDBOX_MODE: "danger-full-access" }, cliName: "codex" });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const { configuration } = configured;
  const cliFeatures = cliB.featureQuestion?.read(
    spawnSync(binaryOf(version), cliB.featureQuestion.args, {
      env: { CODEX_HOME: temporaryDirectory(onTestFinished) },
      encoding: "utf8",
    }).stdout,
  );
  const turn = {
    configuration,
    permissions: {},
    mode: "execute" as const,
    userHome,
    ...(cliFeatures && { cliFeatures }),
  };
  const plan = cliB.planHome({ home, cliName: "codex", ...turn });
  layOut(home, plan);

  return {
    home,
    run(resume) {
      const args = cliB.buildArgs({ ...turn, workspace, images: [], ...(resume === undefined ? {} : { resume }) });
      const own = { ...plan.env, ...configuration.env };
      return traceRun({
        directory,
        home,
        workspace,
        command: [binaryOf(version), ...args],
        env: own,
        done: '"turn.completed"',
      });
    },
  };
}

function readHistory(home: string): { type: string; payload: Record<string, unknown> }[] {
  const sessions = join(home, "codex/sessions");
  const names = readdirSync(sessions, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  return names.flatMap((name) =>
    readFileSync(join(sessions, name), "utf8")
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line)),
  );
}

describe.skipIf(!hasStrace).each(CLIS_B)("with strace (missing here where this is skipped): $version", (cli) => {
  test("every name that it looks for in its home was looked at, and what it makes is known; a history has known members", async () => {
    const { home, run } = await prepareHome(cli);
    const first = await run();
    const id = readHistory(home).find(({ type }) => type === "session_meta")?.payload["id"];
    const paths = [...first, ...(await run(String(id)))];

    const codex = join(home, "codex");
    const known = [...state.KEPT, ...state.MADE, ...LOOKED_FOR];
    expect(namesBelow(codex, paths)).toEqual(expect.arrayContaining(["sessions", "state_5.sqlite", "auth.json"]));
    expect(namesBelow(codex, paths).filter((name) => !isListed(name, known))).toEqual([]);
    expect(namesBelow(join(home, "codex-home"), paths)).toEqual([".agents"]);
    // What it leaves is kept, or removed without a word.
    expect(readdirSync(codex).filter((name) => !isListed(name, [...state.KEPT, ...state.MADE]))).toEqual([]);
    expect(readdirSync(join(codex, "skills"))).toEqual([".system"]);

    const members = { session_meta: state.SESSION_META, turn_context: state.TURN_CONTEXT } as const;
    const settings = readHistory(home).flatMap(({ payload }) =>
      payload["type"] === "thread_settings_applied" ? Object.keys(Object(payload["thread_settings"])) : [],
    );
    const judged: readonly string[] = [...state.DROPPED, "multi_agent_version"];
    for (const [type, names] of Object.entries(members)) {
      const written = readHistory(home).flatMap((line) => (line.type === type ? Object.keys(line.payload) : []));
      expect(written).toContain("cwd");
      expect(written.filter((name) => !isListed(name, [...names, ...judged]))).toEqual([]);
    }
    expect(settings.filter((name) => !isListed(name, [...state.THREAD_SETTINGS, ...judged]))).toEqual([]);
  });
});
