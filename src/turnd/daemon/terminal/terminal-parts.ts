import type { Logger } from "pino";
import type { CommandGroups } from "../process/cgroup/cgroup.ts";
import type { RunAs } from "../process/run-as.ts";

/** Bounds of the terminal; times in milliseconds. */
export interface TerminalLimits {
  /** Shells that run at once; as many ended ones are kept. */
  readonly maxShells: number;
  /** Viewers of one shell at once. */
  readonly maxViewers: number;
  readonly scrollbackBytes: number;
  /** Longest time without viewer, input and output; 0 is off. */
  readonly idleMs: number;
  /** How long a viewer may read nothing before it is dropped. */
  readonly stallMs: number;
  readonly ticketMs: number;
  /** Between the hang-up and the kill. */
  readonly graceMs: number;
  /** The time within which turnd, and its shells, stop. */
  readonly shutdownMs: number;
  /** Between two pings of a viewer. */
  readonly heartbeatMs: number;
}

/** What every part of this room works with; made once, in `serve/terminal-wiring.ts`. */
export interface TerminalContext {
  readonly stateDirectory: string;
  /** `sandbox/keeper` and `sandbox/pty-relay`. */
  readonly keeperPath: string;
  readonly relayPath: string;
  readonly homeDirectory: string;
  /** Where a shell starts when the request names no place. */
  readonly workspace: string;
  readonly runAs: RunAs;
  /** The allow-listed part of turnd's own environment: without keys, and without what `TURND_PASS_ENV` names. */
  readonly baseEnv: Readonly<Record<string, string>>;
  /**
   * The beginning of the page's URL; undefined while this turnd does not serve the page.
   *
   * @param host - where the front was asked, which serves the page there too
   */
  readonly baseUrl: (host: string | undefined) => string | undefined;
  /** Control groups of shells; undefined where there are none. */
  readonly groups: CommandGroups | undefined;
  readonly limits: TerminalLimits;
  /** The workspace of a turn session; undefined when there is no such session. */
  readonly findWorkspace: (sessionId: string) => string | undefined;
  /** Resolves links. @throws {ProblemError} workspace_unusable */
  readonly checkWorkspace: (path: string) => Promise<string>;
  readonly logger: Logger;
}
