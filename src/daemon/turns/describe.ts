import { access, constants } from "node:fs/promises";
import { ProblemError, type Readiness, type SandboxInfo } from "../../protocol/index.ts";
import type { TurnContext } from "./context.ts";
import { shareAnswer, type SharedAnswer } from "./shared-answer.ts";
import { checkWorkspace } from "./workspace.ts";

/** The name of the check that fails where no process can be started. */
const PROCESSES = "processes";

/** What `GET /v1/sandbox` tells. */
export function describeSandbox(context: TurnContext): SandboxInfo {
  return {
    version: context.version,
    home_dir: context.homeDirectory,
    workspace: context.workspace,
    run_as: { uid: context.runAs.uid, gid: context.runAs.gid },
    subreaper: context.hasSubreaper,
    warnings: [...context.warnings],
  };
}

/** Anyone may ask for it, without a token: so many milliseconds old an answer may be, and no more than one is made at once. */
const READINESS_KEPT_MS = 1_000;

/** Makes the question whether a turn could run now: state writable, workspace usable, at least one executor available. */
export function createReadiness(context: TurnContext): SharedAnswer<Readiness> {
  return shareAnswer({ ask: (signal) => checkReadiness(context, signal), keptMs: () => READINESS_KEPT_MS });
}

async function checkReadiness(context: TurnContext, signal: AbortSignal): Promise<Readiness> {
  const { workspaceRoots: roots, runAs } = context;
  // A probe of this sandbox must not wait for a provider elsewhere.
  const executors = await Promise.all(
    [...context.executors.values()].map((runtime) => runtime.describe("known", signal)),
  );
  const checks = [
    await check("state", () => access(context.stateDirectory, constants.W_OK)),
    await check("workspace", () => checkWorkspace(context.workspace, { roots, runAs, signal })),
    ...executors.map(({ id, available, unavailable }) => ({
      name: id,
      ok: available,
      ...(unavailable === undefined ? {} : { message: unavailable.message }),
    })),
  ];
  const required = checks.filter(({ name }) => ["state", "workspace", PROCESSES].includes(name));
  return { ready: required.every(({ ok }) => ok) && executors.some(({ available }) => available), checks };
}

async function check(name: string, ask: () => Promise<unknown>): Promise<Readiness["checks"][number]> {
  try {
    await ask();
    return { name, ok: true };
  } catch (error) {
    // That it could not be asked says nothing against it.
    const isExhausted = error instanceof ProblemError && error.code === "resources_exhausted";
    return {
      name: isExhausted ? PROCESSES : name,
      ok: false,
      message: error instanceof Error ? error.message : String(error),
    };
  }
}
