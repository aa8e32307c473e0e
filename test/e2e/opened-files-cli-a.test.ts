import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { cliA } from "../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { CONFIG_MADE, DATA_LEFT } from "../../src/turnd/daemon/executors/cli-a/config/home.ts";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { callTool, type Action } from "../../src/scripted-model/tools.ts";
import { binaryOf, CLIS_A, KEY } from "../harness/real-daemon.ts";
import { hasStrace, layOut, namesBelow, traceRun } from "../harness/traced-cli.ts";
import { giveToUser, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

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

const ACTIONS: readonly Action[] = [
  { type: "run", command: "cat notes.ts | head -1 && echo done", purpose: "Looks at it" },
  { type: "read", path: "notes.ts" },
  { type: "edit", path: "notes.ts", before: "first line", after: "second line" },
  { type: "write", path: "written.py", content: "print(1)\n" },
];
/** A shell command is what CLI A parses by a WebAssembly module; edits and reads are what wakes formatters and servers. */
const everyTool: Scenario = (conversation) => {
  const next = ACTIONS.flatMap((action) => callTool(action, conversation) ?? [])[
    currentTurn(conversation).outcomes.length
  ];
  return next === undefined ? say("Noted.") : { type: "answer", parts: [next], ending: "stop" };
};

const WASM_NAMES = [
  "tree-sitter",
  "tree-sitter-bash",
  "tree-sitter-powershell",
  "web-tree-sitter",
  "photon_rs_bg",
  "shiki",
  "onig",
];
const WORKER_NAMES = ["worker", "parser.worker", "parser-worker", "tui/worker", "cli/cmd/tui/worker"];

/** Modules and workers, by the names that CLI A's own have, in each place where one could be looked for. */
function plant(workspace: string): void {
  const files = [
    ...WASM_NAMES.flatMap((name) => [`${name}.wasm`, `node_modules/${name}/${name}.wasm`, `.opencode/${name}.wasm`]),
    ...WORKER_NAMES.flatMap((name) => ["js", "ts", "mjs"].map((end) => `${name}.${end}`)),
    ...WORKER_NAMES.map((name) => `src/${name}.ts`),
    "node_modules/web-tree-sitter/tree-sitter.wasm",
    "node_modules/@opentui/core/parser.worker.js",
  ];
  const config = {
    formatter: { own: { command: ["./worker.js", "$FILE"], extensions: [".ts", ".py"] } },
    lsp: { own: { command: ["./worker.js"], extensions: [".ts", ".py"] } },
    plugin: ["./worker.js", "./tree-sitter.wasm"],
  };
  for (const name of files) {
    mkdirSync(dirname(join(workspace, name)), { recursive: true });
    writeFileSync(
      join(workspace, name),
      name.endsWith(".wasm") ? Buffer.from("0061736d01000000", "hex") : "export {};\n",
    );
  }
  writeFileSync(join(workspace, "opencode.json"), JSON.stringify(config));
  writeFileSync(join(workspace, "notes.ts"), "first line\n");
  execFileSync("git", ["init", "--quiet"], { cwd: workspace });
  giveToUser(workspace);
}

interface Traced {
  readonly home: string;
  readonly userHome: string;
  /** All paths that its turns named in system calls. */
  readonly paths: readonly string[];
  /** Of these the modules and workers, beside those in the binary. */
  readonly modules: readonly string[];
}

/** Traces a turn that uses every tool, and one that goes on with it, in a workspace with modules and workers. */
async function traceTurns(version: string, { allowsWorkspaceCode = false, turns = 2 } = {}): Promise<Traced> {
  const directory = temporaryDirectory(onTestFinished);
  const model = await startScriptedModel({ scenarios: { text: everyTool } });
  onTestFinished(() => model.close());
  const [home, workspace, userHome] = ["home", "work", "user"].map((name) => userDirectory(join(directory, name)));
  if (home === undefined || workspace === undefined || userHome === undefined) throw new Error("no directories");
  plant(workspace);
  const env = { CLI_A_API_KEY: KEY, CLI_A_MODEL: "scripted", CLI_A_PROVIDER: "scripted", CLI_A_BASE_URL: model.url };
  const configured = cliA.configure({ env, cliName: "opencode" });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const { configuration } = configured;
  const turn = { configuration, permissions: {}, mode: "execute" as const, userHome };
  const plan = cliA.planHome({ home, cliName: "opencode", cliVersion: version, allowsWorkspaceCode, ...turn });
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
  const paths = await run();
  // All tools were used.
  expect(paths).toEqual(expect.arrayContaining([expect.stringMatching(/written\.py$/)]));
  if (turns > 1) {
    const store = openSqlite(join(home, "data/opencode/opencode.db"));
    const id = String(store.prepare("SELECT id FROM session").get()?.["id"]);
    store.close();
    paths.push(...(await run(id)));
  }
  const modules = paths.filter((path) => /\.wasm\b|worker/.test(path) && !path.startsWith("/$bunfs/"));
  return { home, userHome, paths, modules };
}

describe.skipIf(!hasStrace)("with strace (missing here where this is skipped):", () => {
  test.each(CLIS_A)(
    "every name that $version looks for in its home was looked at; it reads nothing in its user's home, and opens no WebAssembly module and no worker that a repository brings",
    async ({ version }) => {
      const { home, userHome, paths, modules } = await traceTurns(version);
      expect(modules).toEqual([]);
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
    },
  );

  test("without the guard 1.18.33 opens what the repository names", async () => {
    const { modules } = await traceTurns("1.18.33", { allowsWorkspaceCode: true, turns: 1 });
    expect(modules).toEqual(expect.arrayContaining([expect.stringMatching(/worker\.js$/)]));
  });
});
