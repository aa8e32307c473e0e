import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { inject } from "vitest";
import { createClient, type Client } from "./client.ts";
import { CLI_USER, userDirectory } from "./temporary.ts";

export interface DaemonOptions {
  /** Holds state, home and workspace; a second daemon on it goes on where the first stopped. */
  readonly directory: string;
  /** Laid over what every daemon of a test has; says which CLIs there are. */
  readonly env: Readonly<Record<string, string>>;
  /** Its program; absent: what the tests were given. */
  readonly program?: string;
  /** What starts it, its own command line behind: for a machine that is otherwise than this one. Has to become it. */
  readonly through?: readonly string[];
}

/** A real daemon in a process of its own, and a client of it. */
export interface TestDaemon extends Client {
  readonly pid: number;
  readonly workspace: string;
  readonly state: string;
  /** Lines of its log so far. */
  readonly log: readonly string[];
  kill(signal: NodeJS.Signals): void;
  /** Resolves with the exit code, or null for a signal. */
  readonly exited: Promise<number | null>;
  /** SIGTERM, and wait. */
  stop(): Promise<number | null>;
}

/** Starts a daemon and waits until it listens. */
export async function startDaemon(options: DaemonOptions): Promise<TestDaemon> {
  const workspace = userDirectory(join(options.directory, "workspace"));
  const state = join(options.directory, "state");
  const program = options.program ?? inject("turnd");
  const [command, ...args] = [...(options.through ?? []), process.execPath, program];
  const child = execa(command, args, {
    extendEnv: false,
    env: {
      TURND_HOST: "127.0.0.1",
      TURND_PORT: "0",
      TURND_STATE_DIR: state,
      TURND_HOME: join(options.directory, "home"),
      TURND_WORKSPACE: workspace,
      // Groups that killed daemons leave would stay on this machine; the tests of them clean up.
      TURND_TURN_CGROUPS: "off",
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
      ...options.env,
    },
    reject: false,
    stdin: "ignore",
    buffer: false,
    cleanup: true,
  });
  const log: string[] = [];
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  const keep = (line: string): void => {
    log.push(line);
    const url = /"url":"(http:[^"]+)"[^}]*"msg":"listening"/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  };
  createInterface({ input: child.stdout }).on("line", keep);
  createInterface({ input: child.stderr }).on("line", keep);
  const exited = Promise.resolve(child).then((result) => result.exitCode ?? null);
  const url = await Promise.race([
    listening,
    exited.then((code) => {
      throw new Error(`the daemon ended with ${code} before it listened:\n${log.join("\n")}`);
    }),
  ]);
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  return {
    ...createClient(url),
    pid: child.pid ?? 0,
    workspace,
    state,
    log,
    exited,
    kill,
    async stop() {
      kill("SIGTERM");
      return exited;
    },
  };
}
