import { chmod, mkdtemp, readdir, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { CliName } from "../src/turnd/protocol/index.ts";
import { removeDirectory } from "../src/turnd/daemon/process/user-files/remove-directory.ts";
import { makeUserDirectory } from "../src/turnd/daemon/process/user-files/user-directory.ts";
import { startScriptedModel, type ScriptedModel } from "../src/scripted-model/server.ts";
import { CheckFailed, expectThat } from "./demo/expect-that.ts";
import { lookAtCliB } from "./demo/look-at-cli-b.ts";
import { playService } from "./demo/play-service.ts";
import { runTurn, type SeenTurn } from "./demo/run-turn.ts";
import { startTurnd, type TurndProcess } from "./demo/turnd-process.ts";
import { fillEnvironment, runAsOf, type FilledEnvironment } from "./fill-environment.ts";
import { configuredClis, scriptableClis, scriptedVariables } from "./generate/provider-variables.ts";

const FIRST = "Create a small program in the workspace, run it and read its output. Then tell me what it printed.";
const SECOND = "Which file did you create before, and what did it print when you ran it?";

/** One session on one CLI: a turn that writes and runs a program, and one that refers to it. */
async function play(stage: Stage, executor: CliName): Promise<void> {
  const { turnd, owner, signal } = stage;
  const workspace = join(stage.workspace, executor);
  await makeUserDirectory(workspace, runAsOf(owner), 0o755);
  console.log(`\n${executor}: "${FIRST}"`);
  const first = await runTurn(turnd.url, { executor, workspace, input: FIRST }, signal);
  expectCompleted(first);
  const [file] = await readdir(workspace);
  expectThat(file !== undefined, `a new file in ${workspace}`, "an empty directory");
  const { uid } = await stat(join(workspace, file ?? ""));
  expectThat(uid === owner.uid, `${file} belongs to uid ${owner.uid}`, `uid ${uid}`);
  console.log(`  ✓ ${join(workspace, file ?? "")} exists and belongs to uid ${uid}`);

  console.log(`\n${executor}, same session: "${SECOND}"`);
  const second = await runTurn(turnd.url, { session_id: first.result.session_id, input: SECOND }, signal);
  expectCompleted(second);
  const { resumed, degraded, output } = second.result;
  expectThat(resumed && !degraded, "the native session is resumed", `resumed ${resumed}, degraded ${degraded}`);
  expectThat(output?.includes(basename(file ?? "")) === true, `the answer names ${file}`, String(output));
  if (stage.isScripted(executor)) {
    const printed = first.result.output?.split("It printed: ")[1];
    const isQuoted = printed !== undefined && output?.includes(printed) === true;
    expectThat(isQuoted, `the answer quotes what the program printed, "${printed}"`, String(output));
  }
  console.log(`  ✓ the second turn resumed ${second.result.native_session_id} and knew the first: ${output}`);
}

interface Stage {
  readonly turnd: TurndProcess;
  readonly owner: FilledEnvironment["owner"];
  readonly workspace: string;
  readonly isScripted: (executor: CliName) => boolean;
  readonly signal: AbortSignal;
}

function expectCompleted({ events, result }: SeenTurn): void {
  const failure = result.failure === undefined ? "" : ` ${result.failure.code}: ${result.failure.message}`;
  expectThat(result.status === "completed", "the turn completes", `${result.status}${failure}`);
  const isWhole = events.every(({ seq }, index) => seq === index + 1);
  expectThat(isWhole, "seq counts from 1 without a gap", events.map(({ seq }) => seq).join(" "));
}

/** Starts what the demo needs, runs both CLIs and removes everything, whatever happens. */
async function demo(signal: AbortSignal): Promise<void> {
  const base = await makeBase();
  let model: ScriptedModel | undefined;
  let turnd: TurndProcess | undefined;
  let owner: FilledEnvironment["owner"] | undefined;
  try {
    const given = withoutOthers(process.env);
    const real = configuredClis(given);
    const scripted = scriptableClis().filter((executor) => !real.includes(executor));
    model = await startScriptedModel();
    const filled = await fillEnvironment(given, { state: join(base, "state"), users: base, isTemporary: true });
    owner = filled.owner;
    let env: Record<string, string> = {
      ...given,
      ...scriptedVariables(model.url, scripted),
      ...filled.env,
      TURND_PORT: "0",
      // Long enough for a loaded machine and a slow provider, short enough for a person who watches.
      TURND_TURN_TIMEOUT_MS: real.length > 0 ? "300000" : "120000",
    };
    for (const note of filled.notes) console.log(note);
    for (const executor of [...real, ...scripted].toSorted()) {
      console.log(
        `${executor} talks to ${real.includes(executor) ? "the provider of your variables" : `a scripted model at ${model.url}`}`,
      );
    }
    turnd = await startTurnd(env);
    const info = await lookAtCliB(turnd.url, signal);
    if (info.sandbox?.works === false && given["CLI_B_SANDBOX_MODE"] === undefined) {
      console.log(`CLI B's own sandbox cannot work on this machine (${info.sandbox.message ?? "no reason given"}):`);
      console.log("its commands run without one, CLI_B_SANDBOX_MODE=danger-full-access");
      env = { ...env, CLI_B_SANDBOX_MODE: "danger-full-access" };
      await turnd.stop();
      turnd = await startTurnd(env);
    }
    console.log(`turnd serves ${turnd.url}/v1; state, home and workspace in ${base}`);
    const workspace = filled.env["TURND_WORKSPACE"] ?? join(base, "workspace");
    const isScripted = (executor: CliName): boolean => !real.includes(executor);
    const stage = { turnd, owner: filled.owner, workspace, isScripted, signal };
    for (const executor of [...real, ...scripted].toSorted()) await play(stage, executor);
    const code = await turnd.stop();
    turnd = undefined;
    expectThat(code === 0, "turnd stops with exit code 0", String(code));
    await playService(base, serviceEnvironment(env), signal);
  } catch (error) {
    if (turnd !== undefined) console.error(`\nThe end of turnd's log:\n${turnd.log.join("\n")}`);
    throw error;
  } finally {
    await turnd?.stop();
    await model?.close();
    await removeDirectory(base, { runAs: runAsOf(owner ?? { uid: process.getuid?.() ?? 0, gid: 0 }) });
  }
}

/** A directory that the CLIs' user can enter, which the one of TMPDIR need not be. */
async function makeBase(): Promise<string> {
  const isRoot = process.getuid?.() === 0;
  const base = await mkdtemp(join(isRoot ? "/tmp" : tmpdir(), "turnd-demo-"));
  await chmod(base, 0o711);
  return base;
}

/** The demo has its own directories, ports and tokens: variables of another turnd or service must not lead it there. */
function withoutOthers(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || /^(TURND_|SERVICE_|SVC_|DATABASE_URL(_FILE)?$)/.test(name) ? [] : [[name, value]],
    ),
  );
}

/** The providers and the CLIs of the first half, for a turnd of the service's own. */
function serviceEnvironment(env: Readonly<Record<string, string>>): Record<string, string> {
  const { TURND_RUN_AS: runAs } = env;
  return { ...withoutOthers(env), ...(runAs === undefined ? {} : { TURND_RUN_AS: runAs }) };
}

const stopping = new AbortController();
// For good, not once: a library that sees itself as the only listener left would end the process before it is cleared.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stopping.abort(new Error(signal)));

try {
  await demo(stopping.signal);
  console.log(
    "\nEvery check held: both CLIs wrote a program, ran it, and referred to it in a second turn; " +
      "the service ran them for a client with a key, over a cut connection, in a queue, and cancelled one; " +
      "and svc put a folder into a knowledge base and opened an answer at its lines.",
  );
} catch (error) {
  const shown = error instanceof CheckFailed || stopping.signal.aborted ? String(error) : error;
  console.error("\nThe demo failed.", shown);
  process.exitCode = 1;
}
