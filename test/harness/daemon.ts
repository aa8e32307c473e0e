import { join } from "node:path";
import { inject } from "vitest";
import { createClient, type Client } from "./client.ts";
import { startListening, type ListeningProcess } from "./listening-process.ts";
import { CLI_USER, userDirectory } from "./temporary.ts";

export interface DaemonOptions {
  /** Holds state, home and workspace; a second daemon on it goes on where the first stopped. */
  readonly directory: string;
  /** Overrides of the environment of every test's daemon; names its CLIs. */
  readonly env: Readonly<Record<string, string>>;
  /** Its program; by default the one that the tests were given. */
  readonly program?: string;
  /** A command before its own, for another kind of machine; has to become it (exec). */
  readonly through?: readonly string[];
}

/** A real daemon in a process of its own, and a client of it. */
export interface TestDaemon extends Client, Omit<ListeningProcess, "url"> {
  readonly workspace: string;
  readonly state: string;
  /** SIGTERM, and wait. */
  stop(): Promise<number | null>;
}

/** Starts a daemon and waits until it listens. */
export async function startDaemon(options: DaemonOptions): Promise<TestDaemon> {
  const workspace = userDirectory(join(options.directory, "workspace"));
  const state = join(options.directory, "state");
  const program = options.program ?? inject("turnd");
  const [command, ...args] = [...(options.through ?? []), process.execPath, program] as const;
  const { url, ...running } = await startListening([command, ...args], {
    TURND_HOST: "127.0.0.1",
    TURND_PORT: "0",
    TURND_STATE_DIR: state,
    TURND_HOME: join(options.directory, "home"),
    TURND_WORKSPACE: workspace,
    // Where a test looks for what its turns write; `test/turnd/daemon/turns/admission/own-workspaces.test.ts` and programs take the default.
    TURND_SESSION_WORKSPACE: "shared",
    // Groups that killed daemons leave would stay on this machine; the tests of them clean up.
    TURND_TURN_CGROUPS: "off",
    TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    ...options.env,
  });
  return {
    ...createClient(url),
    ...running,
    workspace,
    state,
    async stop() {
      running.kill("SIGTERM");
      return running.exited;
    },
  };
}
