import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Transport } from "../../../protocol/index.ts";
import { defined } from "../../../../kit/defined.ts";
import type { CliFeatures } from "../../executors/contract/cli-features.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { HomePlan, Invocation } from "../../executors/contract/invocation.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import type { Turn } from "../lifecycle/turn.ts";
import type { EnvironmentOf } from "./cli-environment.ts";

/** Which binary runs, and how. */
export interface ProcessOptions {
  readonly binary: string;
  readonly version: string;
  readonly features: CliFeatures | undefined;
  readonly requestedSession: string | null;
  readonly transport: Transport;
}

/** A turn's process, or the server that does the turn: what it is started with. Nothing is written. */
export interface DescribedProcess {
  readonly home: string;
  readonly plan: HomePlan;
  readonly env: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly invocation: Invocation;
  /** Of a server: another one is needed where this differs. */
  readonly key: string;
}

export const SCHEMA = "output-schema.json";

/** Works out what a turn's process is started with. */
export type DescribeProcess = (turn: Turn, options: ProcessOptions) => DescribedProcess;

export interface DescribeParts {
  readonly environmentOf: EnvironmentOf;
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get">;
  /** HOME of the CLIs. */
  readonly homeDirectory: string;
}

/** Makes what works that out for the turns of a daemon. */
export function createDescriber({ environmentOf, executors, sessions, homeDirectory }: DescribeParts): DescribeProcess {
  return (turn, options) => {
    const { file } = turn;
    const { executor, configuration } = executorOf(executors, file.executor);
    const { home, plan, env } = environmentOf(turn, options);
    const attached = (name: string): string => join(home, "turn", file.turn_id, name);
    const invocation: Invocation = {
      mode: file.mode,
      configuration,
      userHome: homeDirectory,
      workspace: file.workspace,
      permissions: permissionsOf(sessions.get(file.session_id), file),
      images: file.images.map(attached),
      ...(file.output_schema === undefined ? {} : { outputSchema: attached(SCHEMA) }),
      ...(options.requestedSession === null ? {} : { resume: options.requestedSession }),
      ...defined({ model: file.model, agent: file.agent, effort: file.effort, cliFeatures: options.features }),
    };
    const { interactive } = executor;
    if (options.transport === "headless" || interactive === undefined) {
      return { home, plan, env, args: executor.buildArgs(invocation), invocation, key: "" };
    }
    const args = interactive.buildServerArgs(invocation);
    const keys = new Set(interactive.listKeyNames(configuration));
    const own = Object.entries(env).filter(([name]) => !keys.has(name) && !OF_A_TURN.has(name));
    const facts = {
      binary: [options.binary, options.version],
      args,
      env: own,
      files: plan.files,
      keys: [...keys].map((name) => configuration.env[name]),
      permissions: invocation.permissions,
      workspace: file.workspace,
      mode: file.mode,
      sticky: interactive.stickySettings(invocation),
    };
    const key = createHash("sha256").update(JSON.stringify(facts)).digest("hex");
    return { home, plan, env: Object.fromEntries(own), args, invocation, key };
  };
}

/** Variables that name one turn: a server does several. */
const OF_A_TURN: ReadonlySet<string> = new Set(["TRACEPARENT", "TURND_TURN_ID"]);
