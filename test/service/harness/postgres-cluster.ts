import { execFileSync } from "node:child_process";
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import pg from "pg";
import { waitFor } from "../../harness/wait-for.ts";

/** A PostgreSQL of the tests' own, in a temporary directory. */
export interface PostgresCluster {
  /** Of the maintenance database; the path names another one. */
  readonly url: string;
  /** Ends it, and starts it again on the same port: SIGINT is a fast shutdown, SIGQUIT an immediate one, SIGKILL a crash. */
  restart(signal: NodeJS.Signals): Promise<void>;
  stop(): Promise<void>;
}

/** Debian keeps the programs of each version apart. */
function findPrograms(): string {
  const base = "/usr/lib/postgresql";
  const versions = existsSync(base)
    ? readdirSync(base)
        .map(Number)
        .filter((version) => version >= 15)
    : [];
  const newest = versions.toSorted((left, right) => right - left)[0];
  if (newest === undefined) {
    throw new Error(
      "no PostgreSQL 15 or newer below /usr/lib/postgresql: run `node scripts/setup.mjs --tests` as root",
    );
  }
  return join(base, String(newest), "bin");
}

/** PostgreSQL refuses to run as root. */
function findUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const idOf = (flag: string): number => Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: idOf("-u"), gid: idOf("-g") };
}

export interface ClusterOptions {
  /** Where it listens; containers reach the address of their bridge. */
  readonly host?: string;
  /** Asked of everyone; without one everyone at `host` may come, which is for loopback alone. */
  readonly password?: string;
  /** Commits wait for the disk, as they do by default everywhere else; tests need not. */
  readonly isDurable?: boolean;
}

/** Starts a cluster; a crash of the tests' process takes it along. */
export async function startPostgresCluster({
  host = "127.0.0.1",
  password,
  isDurable = false,
}: ClusterOptions = {}): Promise<PostgresCluster> {
  const programs = findPrograms();
  const user = findUser();
  const directory = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  if (user !== undefined) chownSync(directory, user.uid, user.gid);
  const data = join(directory, "data");
  const method = password === undefined ? "trust" : "scram-sha-256";
  const as = { ...user, cwd: directory, env: { PATH: "/usr/bin:/bin", LC_ALL: "C.UTF-8" }, extendEnv: false } as const;
  const passwordFile = join(directory, "password");
  if (password !== undefined) writeFileSync(passwordFile, password);
  const how = ["-D", data, "-U", "svc", "-A", method, "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"];
  if (password !== undefined) how.push(`--pwfile=${passwordFile}`);
  await execa(join(programs, "initdb"), how, as);
  if (password !== undefined) appendFileSync(join(data, "pg_hba.conf"), `host all all all ${method}\n`);
  const port = await freePort(host);
  const url = `postgres://svc${password === undefined ? "" : `:${password}`}@${host}:${port}/postgres`;
  const durability = isDurable ? [] : ["-c", "fsync=off"];
  const start = async () => {
    const child = execa(
      join(programs, "postgres"),
      ["-D", data, "-k", directory, "-h", host, "-p", String(port), "-c", "max_connections=300", ...durability],
      { ...as, reject: false, all: true, cleanup: true },
    );
    const exited = Promise.resolve(child);
    await Promise.race([
      waitFor("PostgreSQL answers", () => answers(url)),
      exited.then(({ all }) => {
        throw new Error(`PostgreSQL ended:\n${all}`);
      }),
    ]);
    return { child, exited };
  };
  let running = await start();
  return {
    url,
    async restart(signal) {
      running.child.kill(signal);
      await running.exited;
      // After a SIGKILL the backends are still there for a moment, and keep a new postmaster from starting.
      running = await waitFor("PostgreSQL starts again", () => start().catch(() => undefined));
    },
    async stop() {
      // Immediate: nothing of it is kept.
      running.child.kill("SIGQUIT");
      await running.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  // A refused connection is reported twice: by the call, and by the event.
  client.on("error", () => undefined);
  try {
    await client.connect();
    await client.query("select 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePort(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
