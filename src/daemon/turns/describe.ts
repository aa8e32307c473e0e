import { access, constants } from "node:fs/promises";
import type { Readiness, SandboxInfo } from "../../protocol/index.ts";
import type { TurnContext } from "./context.ts";
import { checkWorkspace } from "./workspace.ts";

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

/** Whether a turn could run now: state writable, workspace usable, at least one executor available. */
export async function checkReadiness(context: TurnContext): Promise<Readiness> {
  // A probe of this sandbox must not wait for a provider elsewhere.
  const executors = await Promise.all([...context.executors.values()].map((runtime) => runtime.describe("known")));
  const checks = [
    await check("state", () => access(context.stateDirectory, constants.W_OK)),
    await check("workspace", () =>
      checkWorkspace(context.workspace, { roots: context.workspaceRoots, runAs: context.runAs }),
    ),
    ...executors.map(({ id, available, unavailable }) => ({
      name: id,
      ok: available,
      ...(unavailable === undefined ? {} : { message: unavailable.message }),
    })),
  ];
  const required = checks.filter(({ name }) => name === "state" || name === "workspace");
  return { ready: required.every(({ ok }) => ok) && executors.some(({ available }) => available), checks };
}

async function check(name: string, ask: () => Promise<unknown>): Promise<Readiness["checks"][number]> {
  try {
    await ask();
    return { name, ok: true };
  } catch (error) {
    return { name, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}
