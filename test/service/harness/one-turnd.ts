import { pino } from "pino";
import { createSandboxPool } from "../../../src/service/sandboxes/pool.ts";
import type { SandboxEngine } from "../../../src/service/sandboxes/sandbox-engine.ts";
import type { ServiceOptions } from "../../../src/service/serve/service-options.ts";

/** A pool whose every instance is the same turnd, and what a test does to it. */
export interface OneTurnd {
  readonly engine: SandboxEngine;
  readonly createSandboxes: ServiceOptions["createSandboxes"];
  /** What every start throws from now on. */
  fault: string | undefined;
  /** Whether the engine is away: no start reaches it. */
  isAway: boolean;
  /** Starts that begin from now on wait for it. */
  held: Promise<void> | undefined;
  /** Whether an instance that was started is gone. */
  isGone: boolean;
  /** Starts so far. */
  launches: number;
}

export interface OneTurndOptions {
  readonly max?: number;
  readonly fault?: string;
  /** Whether what an earlier process has started is gone. */
  readonly isGone?: boolean;
  readonly onLaunch?: () => void;
}

export function oneTurnd(url: string, options: OneTurndOptions = {}): OneTurnd {
  const { max = 50, fault, onLaunch = () => undefined } = options;
  const engine: SandboxEngine = {
    kind: "docker",
    spec: {},
    async launch(_name, _token, signal) {
      turnd.launches += 1;
      onLaunch();
      await Promise.race([turnd.held, new Promise((_, reject) => signal.addEventListener("abort", reject))]);
      if (turnd.isAway) throw Object.assign(new Error("connect ENOENT /run/engine.sock"), { code: "ENOENT" });
      if (turnd.fault !== undefined) throw new Error(turnd.fault);
      turnd.isGone = false;
      return url;
    },
    find: async () => (turnd.isGone ? undefined : url),
    lastLines: async () => "",
    halt: async () => undefined,
    remove: async () => undefined,
    list: async () => [],
    look: async () => ({ ok: true }),
  };
  const turnd: OneTurnd = {
    engine,
    fault,
    isAway: false,
    held: undefined,
    isGone: options.isGone ?? false,
    launches: 0,
    createSandboxes: async ({ storage, secrets }) =>
      createSandboxPool({
        storage,
        engine,
        logger: pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" }),
        scope: "thread",
        sandboxSecret: secrets.sandbox,
        max,
        idleMs: 600_000,
        startMs: 60_000,
      }),
  };
  return turnd;
}
