import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { cliA } from "../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { CONFIG_MADE, DATA_LEFT } from "../../src/turnd/daemon/executors/cli-a/config/home.ts";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { binaryOf, CLIS_A, KEY, type RealCli } from "../harness/real-daemon.ts";
import { hasStrace, layOut, namesBelow, traceRun } from "../harness/traced-cli.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/**
 * What a binary looks for in its directory of configuration and does not make. Before every turn it is not there, since all but
 * turnd's own files is removed. A name that is new is read in the CLI's source before it is listed.
 */
const LOOKED_FOR = [
  "AGENTS.md",
  "config",
  "opencode.json",
  "opencode.jsonc",
  ...["agent", "command", "mode", "plugin", "skill", "tool"].flatMap((name) => [name, `${name}s`]),
];
/** Of its data: the guard has looked at the store, and turnd removes the credentials. */
const DATA = ["auth.json", ...["", "-journal", "-shm", "-wal"].map((end) => `opencode.db${end}`), ...DATA_LEFT];
/** Emptied before every turn, or not there: nothing that lies there is another's. */
const EMPTIED = [".opencode", "cache/opencode", "state/opencode", "tmp"];

/** Traces a first turn and one that goes on with it. @returns all paths that both named in system calls */
async function traceTwo({ version }: RealCli) {
  const directory = temporaryDirectory(onTestFinished);
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  const [home, workspace, userHome] = ["home", "work", "user"].map((name) => userDirectory(join(directory, name)));
  if (home === undefined || workspace === undefined || userHome === undefined) throw new Error("no directories");
  execFileSync("git", ["init", "--quiet"], { cwd: workspace });
  execFileSync("chown", ["-R", `${CLI_USER.uid}:${CLI_USER.gid}`, workspace]);
  const env = { CLI_A_API_KEY: KEY, CLI_A_MODEL: "scripted", CLI_A_PROVIDER: "scripted", CLI_A_BASE_URL: model.url };
  const configured = cliA.configure({ env, cliName: "opencode" });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const { configuration } = configured;
  const turn = { configuration, permissions: {}, mode: "execute" as const, userHome };
  const plan = cliA.planHome({ home, cliName: "opencode", cliVersion: version, ...turn });
  layOut(home, plan);
  const run = (resume?: string): Promise<string[]> => {
    const args = cliA.buildArgs({ ...turn, workspace, images: [], ...(resume === undefined ? {} : { resume }) });
    const own = { HOME: userHome, ...plan.env, ...configuration.env };
    return traceRun({
      directory,
      home,
      workspace,
      command: [binaryOf(version), ...args],
      env: own,
      done: "step_finish",
    });
  };
  const first = await run();
  const store = openSqlite(join(home, "data/opencode/opencode.db"));
  const id = String(store.prepare("SELECT id FROM session").get()?.["id"]);
  store.close();
  return { home, userHome, paths: [...first, ...(await run(id))] };
}

describe.skipIf(!hasStrace).each(CLIS_A)("with strace (missing here where this is skipped): $version", (cli) => {
  test("every name that it looks for in its home was looked at, and it reads nothing in its user's home", async () => {
    const { home, userHome, paths } = await traceTwo(cli);
    const config = namesBelow(join(home, "config/opencode"), paths);
    const known: readonly string[] = [...LOOKED_FOR, ...CONFIG_MADE];
    expect(config).toEqual(expect.arrayContaining(["config.json", "opencode.json", "plugins"]));
    expect(config.filter((name) => !known.includes(name))).toEqual([]);
    const data = namesBelow(join(home, "data/opencode"), paths);
    expect(data).toEqual(expect.arrayContaining(["auth.json", "opencode.db", "opencode.db-wal"]));
    expect(data.filter((name) => !DATA.includes(name))).toEqual([]);
    const others = namesBelow(home, paths, 2).filter(
      (name) => !EMPTIED.some((place) => name === place || name.startsWith(`${place}/`)),
    );
    // Its git, too: `config/git` is no name of it.
    expect(others).toEqual(["config/opencode", "data", "data/opencode"]);
    expect(namesBelow(userHome, paths)).toEqual([]);
    expect(paths).toEqual(expect.arrayContaining([expect.stringContaining("/bin/git")]));
  });
});
