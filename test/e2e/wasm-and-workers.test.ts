import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { cliA } from "../../src/turnd/daemon/executors/cli-a/adapter.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { callTool, type Action } from "../../src/scripted-model/tools.ts";
import { binaryOf, CLIS_A, KEY } from "../harness/real-daemon.ts";
import { hasStrace, layOut, traceRun } from "../harness/traced-cli.ts";
import { giveToUser, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

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

/** Traces a turn that uses every tool. @returns which modules and workers it named in system calls, beside those in its binary */
async function traceTurn(version: string, { allowsWorkspaceCode = false } = {}): Promise<string[]> {
  const directory = temporaryDirectory(onTestFinished);
  const model = await startScriptedModel({ scenarios: { text: everyTool } });
  onTestFinished(() => model.close());
  const [home, workspace, userHome] = ["home", "work", "user"].map((name) => userDirectory(join(directory, name)));
  if (home === undefined || workspace === undefined || userHome === undefined) throw new Error("no directories");
  plant(workspace);
  const provider = { CLI_A_PROVIDER: "scripted", CLI_A_BASE_URL: model.url };
  const env = { CLI_A_API_KEY: KEY, CLI_A_MODEL: "scripted", ...provider };
  const configured = cliA.configure({ env, cliName: "opencode" });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const { configuration } = configured;
  const turn = { configuration, permissions: {}, mode: "execute" as const, userHome };
  const plan = cliA.planHome({ home, cliName: "opencode", cliVersion: version, allowsWorkspaceCode, ...turn });
  layOut(home, plan);
  const paths = await traceRun({
    directory,
    home,
    workspace,
    command: [binaryOf(version), ...cliA.buildArgs({ ...turn, workspace, images: [] })],
    env: { HOME: userHome, ...plan.env, ...configuration.env },
    done: "step_finish",
  });
  // All tools were used.
  expect(paths).toEqual(expect.arrayContaining([expect.stringMatching(/written\.py$/)]));
  return paths.filter((path) => /\.wasm\b|worker/.test(path) && !path.startsWith("/$bunfs/"));
}

describe.skipIf(!hasStrace)("with strace (missing here where this is skipped):", () => {
  test.each(CLIS_A)(
    "$version opens no WebAssembly module and no worker that a repository brings",
    async ({ version }) => {
      expect(await traceTurn(version)).toEqual([]);
    },
  );

  test("without the guard 1.18.33 opens what the repository names", async () => {
    const opened = await traceTurn("1.18.33", { allowsWorkspaceCode: true });
    expect(opened).toEqual(expect.arrayContaining([expect.stringMatching(/worker\.js$/)]));
  });
});
