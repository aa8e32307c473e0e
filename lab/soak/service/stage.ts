import { mkdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { CLI_USER, REPOSITORY, userDirectory } from "../../../test/harness/temporary.ts";
import { fakeEnv } from "../../../test/harness/fake-env.ts";
import { startPostgresCluster, type PostgresCluster } from "../../../test/service/harness/postgres-cluster.ts";
import type { EngineChoice } from "../../../src/service/storage/engine.ts";
import { startKillableProcess, type KillableProcess } from "./killable-process.ts";

export type EngineName = "pglite" | "postgres";

/** A whole service on one engine, with a turnd of its own, each process of which can be killed. */
export interface Stage {
  readonly engine: EngineName;
  /** Where the API answers; several on PostgreSQL. */
  readonly urls: readonly [string, ...string[]];
  readonly turndUrl: string;
  readonly workspace: string;
  /** The first process of the service. */
  readonly service: KillableProcess;
  /** What may be killed: the processes, and PostgreSQL. */
  readonly killables: readonly Killable[];
  /** When something was killed last, on the clock of `performance`: waits are measured from there. */
  lastKillAt(): number;
  /** Ends the service's processes and turnd; the database stays for a last look. @returns faults */
  stopProcesses(): Promise<string[]>;
  readonly database: EngineChoice;
  stopDatabase(): Promise<void>;
}

export type Killable = Pick<KillableProcess, "name" | "killAndRestart" | "kills" | "upSince">;

const SECRETS = {
  SERVICE_JWT_SECRET: "soak-jwt-secret-0123456789abcdefghij",
  SERVICE_KEY_SECRET: "soak-key-secret-0123456789abcdefghij",
  SERVICE_SANDBOX_SECRET: "soak-sandbox-secret-0123456789abcdef",
};

export interface StageOptions {
  /** The service's processes; without them one of each engine's usual ones. */
  readonly roles?: readonly ("serve" | "api" | "worker")[];
  /** A turnd that is there already, instead of one of its own. */
  readonly turndUrl?: string | undefined;
  /** PostgreSQL's commits wait for the disk. */
  readonly isDurable?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

const ROLES = { pglite: ["serve"], postgres: ["api", "api", "worker", "worker"] } as const;

/** Starts it in a directory that the CLIs' user can enter. Nothing is left running where a part of it cannot be started. */
export async function startStage(engine: EngineName, directory: string, options: StageOptions = {}): Promise<Stage> {
  const started: (() => Promise<unknown>)[] = [];
  try {
    return await startParts(engine, directory, { options, started });
  } catch (error) {
    // What made the start fail is what is thrown; that a part of it cannot be stopped either comes of the same.
    await Promise.allSettled(started.toReversed().map((stop) => stop()));
    throw error;
  }
}

interface StageParts {
  readonly options: StageOptions;
  /** Gets what ends each part that runs. */
  readonly started: (() => Promise<unknown>)[];
}

async function startParts(engine: EngineName, directory: string, { options, started }: StageParts): Promise<Stage> {
  const logs = join(directory, "logs");
  mkdirSync(logs, { recursive: true });
  const { isDurable = false } = options;
  const cluster = engine === "postgres" ? await startPostgresCluster({ isDurable }) : undefined;
  if (cluster !== undefined) started.push(() => cluster.stop());
  const turndPort = await freePort();
  const turnd = options.turndUrl === undefined ? await startTurnd(directory, turndPort, logs) : undefined;
  if (turnd !== undefined) started.push(() => turnd.stop());
  const common = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    SERVICE_SANDBOX: "static",
    SERVICE_TURND_URLS: options.turndUrl ?? `http://127.0.0.1:${turndPort}`,
    SERVICE_LEASE_MS: "10000",
    SERVICE_RATE_PER_MINUTE: "0",
    SERVICE_RATE_ANONYMOUS_PER_MINUTE: "0",
    SERVICE_LOGIN_FAILURES_IP: "10000",
    ...SECRETS,
    ...options.env,
    ...(cluster === undefined ? {} : { DATABASE_URL: cluster.url }),
  };
  const urls: string[] = [];
  const launch = async (role: string, number: number): Promise<KillableProcess> => {
    const port = await freePort();
    if (role !== "worker") urls.push(`http://127.0.0.1:${port}`);
    const name = `${engine}-${role}-${number}`;
    const launched = await startKillableProcess({
      name,
      command: [process.execPath, join(REPOSITORY, "src/service/main.ts"), role],
      env: { ...common, SERVICE_PORT: String(port), SERVICE_DATA_DIR: join(directory, "data") },
      logPath: join(logs, `${name}.log`),
    });
    started.push(() => launched.stop());
    return launched;
  };
  const processes: KillableProcess[] = [];
  for (const [index, role] of (options.roles ?? ROLES[engine]).entries()) processes.push(await launch(role, index + 1));
  const [first = "", ...rest] = urls;
  const [service] = processes;
  if (service === undefined) throw new Error("no process of the service");
  const turnds = turnd === undefined ? [] : [turnd];
  const killables = [...processes, ...turnds, ...(cluster === undefined ? [] : [killableDatabase(cluster)])];
  return {
    engine,
    urls: [first, ...rest],
    turndUrl: common.SERVICE_TURND_URLS,
    workspace: join(directory, "workspace"),
    service,
    killables,
    lastKillAt: () => Math.max(...killables.map((each) => each.upSince())),
    async stopProcesses() {
      const faults: string[] = [];
      for (const each of [...processes, ...turnds]) {
        const code = await each.stop();
        if (code !== 0) faults.push(`${each.name} stopped with ${code}`);
      }
      return faults;
    },
    database:
      cluster === undefined
        ? { kind: "pglite", directory: join(directory, "data/pglite") }
        : { kind: "postgres", url: cluster.url, poolSize: 2 },
    stopDatabase: async () => cluster?.stop(),
  };
}

function startTurnd(directory: string, port: number, logs: string): Promise<KillableProcess> {
  return startKillableProcess({
    name: "turnd",
    command: [process.execPath, join(REPOSITORY, "src/turnd/main.ts")],
    env: {
      ...fakeEnv(directory),
      TURND_HOST: "127.0.0.1",
      TURND_PORT: String(port),
      TURND_STATE_DIR: join(directory, "state"),
      TURND_HOME: userDirectory(join(directory, "home")),
      TURND_WORKSPACE: userDirectory(join(directory, "workspace")),
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
      TURND_CANCEL_GRACE_MS: "300",
      TURND_STEER_WAIT_MS: "1000",
      TURND_MAX_TURNS: "16",
    },
    logPath: join(logs, "turnd.log"),
  });
}

function killableDatabase(cluster: PostgresCluster): Killable {
  let kills = 0;
  let upSince = performance.now();
  return {
    name: "postgres",
    async killAndRestart() {
      kills += 1;
      // The shared memory of what was killed may be in use for a moment: then the next start is refused.
      for (let attempt = 1; ; attempt += 1) {
        try {
          await cluster.restart("SIGKILL");
          upSince = performance.now();
          return;
        } catch (error) {
          if (attempt === 20) throw error;
        }
      }
    },
    kills: () => kills,
    upSince: () => upSince,
  };
}

/** Below the ports that the kernel gives to connections: a port must be free again when its process was killed. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
