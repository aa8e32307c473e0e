import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import type { Finding } from "../../src/turnd/daemon/probe/probe.ts";
import { scenariosOf } from "../../src/turnd/daemon/probe/scenarios.ts";
import { processesNaming } from "../harness/processes.ts";
import { CLI_A, CLI_B, realEnv, type RealCli } from "../harness/real-daemon.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { PROBE as B } from "../../src/turnd/daemon/executors/cli-b/adapter.ts";

/** Dozens of turns of real CLIs, a few at a time. */
const LIMIT_MS = 600_000;

interface Probed {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `turnd probe` as an operator would, whose own variables name a provider and a state that must stay untouched. */
async function probe(cli: RealCli, args: readonly string[], extra: Record<string, string> = {}): Promise<Probed> {
  const state = join(temporaryDirectory(onTestFinished), "state");
  const child = execa(process.execPath, [inject("turnd"), "probe", ...args], {
    env: {
      ...realEnv(cli, "http://127.0.0.1:9"),
      TURND_STATE_DIR: state,
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
      ...extra,
    },
    extendEnv: false,
    reject: false,
  });
  const { exitCode, stdout, stderr } = await child;
  const directory = `turnd-probe-${child.pid}-`;
  expect(readdirSync("/tmp").filter((name) => name.startsWith(directory))).toEqual([]);
  expect(processesNaming(`/tmp/${directory}`, "anywhere")).toEqual([]);
  expect(existsSync(state)).toBe(false);
  return { exitCode, stdout, stderr };
}

const [current, older] = CLI_A;
if (current === undefined || older === undefined) throw new Error("CLI A is pinned in two versions");

/**
 * One of CLI A's scenarios for each way to end and each kind of record: tools and their metadata, a list, thinking, a resume, a
 * plan, a refusal, a retry, an error within an answer, an answer that stops early or is filtered, a cancel. The other ways to
 * refuse are told apart by turnd's rules alone, which the recordings prove; `npm run upgrade-cli` plays all.
 */
const OF_CLI_A = [
  "write-and-run",
  "edit",
  "todo",
  "reasoning",
  "resume",
  "plan",
  "bad-key",
  "recovered",
  "error-in-stream",
  "no-finish",
  "content-filter",
  "cancel",
];
const naming = (scenarios: readonly string[]): string[] => scenarios.flatMap((name) => ["--scenario", name]);

test(
  "the pinned CLIs show nothing new; else `node scripts/generate/probe-baseline.ts` writes what they do now",
  { timeout: LIMIT_MS },
  async () => {
    for (const [args, heading, count] of [
      [[...naming(OF_CLI_A), "cli-a"], /^cli-a: opencode (\S+) \(.*\) beside the recordings of \1$/, OF_CLI_A.length],
      [["cli-b"], /^cli-b: codex (\S+) \(.*\) beside the recordings of \1$/, scenariosOf(B).length],
    ] as const) {
      const { exitCode, stdout, stderr } = await probe(current, args);
      const lines = stdout.split("\n");
      expect([exitCode, lines.length], `${stdout}\n${stderr}`).toEqual([0, 2]);
      expect(lines[0]).toMatch(heading);
      expect(lines[1]).toBe(`  ${count} scenarios: 0 changes break turnd, 0 do not`);
    }
  },
);

test(
  "an older CLI A does otherwise what is known to be otherwise, and what breaks us ends with 1",
  { timeout: LIMIT_MS },
  async () => {
    const scenarios = ["text", "edit", "todo", "bad-key", "error-in-stream", "content-filter"];
    const { exitCode, stdout, stderr } = await probe(older, ["--json", ...naming(scenarios), "cli-a"]);
    expect(exitCode, `${stdout}\n${stderr}`).toBe(1);
    const [finding, ...others]: Finding[] = JSON.parse(stdout);
    expect(others).toEqual([]);
    expect(finding?.scenarios.map(({ scenario }) => scenario).toSorted()).toEqual(scenarios.toSorted());
    expect([finding?.version, finding?.known_version]).toEqual(["1.3.2", "1.18.33"]);
    const changed = (name: string) => finding?.scenarios.find(({ scenario }) => scenario === name)?.changes;
    expect(changed("text")).toEqual([]);
    // docs/contracts/cli-a.md §1.1: the whole file before and after, where the newer version prints a patch.
    const metadata = "tool_use part.state.metadata";
    expect(changed("edit")).toEqual([
      { what: "field", subject: `${metadata}.display`, was: "object", breaks: false },
      { what: "field", subject: `${metadata}.filediff.after`, is: "string", breaks: false },
      { what: "field", subject: `${metadata}.filediff.before`, is: "string", breaks: false },
      { what: "field", subject: `${metadata}.filediff.patch`, was: "string", breaks: false },
    ]);
    expect(changed("todo")).toEqual([
      { what: "field", subject: `${metadata}.todos[].id`, is: "string", breaks: false },
    ]);
    // docs/contracts/cli-a.md §14: after an error the newer version ends with 1, and asks again where the older does not.
    const exit = { what: "outcome", subject: "exit", was: "code 1", is: "code 0", breaks: false };
    expect(changed("bad-key")).toEqual([exit]);
    expect(changed("error-in-stream")).toEqual([
      exit,
      { what: "event", subject: "retry:provider_error", was: "sent", breaks: true },
    ]);
    expect(changed("content-filter")).toEqual([exit, { what: "type", subject: "error", was: "printed", breaks: true }]);
  },
);

test("a CLI that is not there is reported as missing, and ends with 1", async () => {
  const { exitCode, stdout } = await probe(CLI_B, ["cli-b"], { CLI_B_BIN: "/nowhere/codex" });
  expect([exitCode, stdout]).toEqual([1, expect.stringMatching(/^cli-b \(codex\) was not probed: .*\/nowhere\/codex/)]);
});

test("wrong arguments end with 2", async () => {
  expect(await probe(CLI_B, ["cli-c"])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('"cli-c"') });
  expect(await probe(CLI_B, ["--yaml"])).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("--yaml") });
});

test(
  "in a clone, beside a turnd that runs, it leaves that one's state directory alone",
  { timeout: 240_000 },
  async () => {
    const directory = temporaryDirectory(onTestFinished);
    const state = join(directory, "state");
    // Where nothing names the user, a start by itself makes one on this machine.
    const runAs = { TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000" };
    const env = { ...realEnv(CLI_B, "http://127.0.0.1:9"), ...runAs, TURND_STATE_DIR: state, TURND_PORT: "0" };
    const places = { TURND_HOME: join(directory, "home"), TURND_WORKSPACE: join(directory, "workspace") };
    for (const path of Object.values(places)) mkdirSync(path, { mode: 0o777 });
    const start = (...args: readonly string[]) =>
      execa(process.execPath, ["scripts/start/main.ts", ...args], {
        cwd: REPOSITORY,
        env: { ...env, ...places },
        extendEnv: false,
        reject: false,
      });
    const running = start("serve");
    onTestFinished(async () => {
      running.kill("SIGTERM");
      await running;
    });
    let log = "";
    running.stdout.on("data", (chunk) => (log += String(chunk)));
    await waitFor("turnd to be ready", () => log.includes("listening"), 120_000);
    const list = (): string[] => readdirSync(state).toSorted();
    const before = list();
    // A binary that is not there: how far a probe comes is no matter here.
    const probed = await execa(process.execPath, ["scripts/start/main.ts", "probe", "cli-b"], {
      cwd: REPOSITORY,
      env: { ...env, CLI_B_BIN: "/nowhere/codex" },
      extendEnv: false,
      reject: false,
    });
    expect([probed.exitCode, probed.stdout]).toEqual([1, expect.stringContaining("/nowhere/codex")]);
    expect(probed.stderr).toContain(`what is not set here is as for the turnd that runs, process ${running.pid}`);
    expect(probed.stderr).not.toContain(`state in`);
    expect(list()).toEqual(before);
    expect(existsSync(`${state}-users`)).toBe(false);
  },
);
