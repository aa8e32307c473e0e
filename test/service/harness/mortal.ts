import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { createClient, type Answer } from "../../harness/client.ts";
import { REPOSITORY } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { PASSWORD } from "./auth.ts";

export interface MortalOptions {
  readonly directory: string;
  readonly turndUrl: string;
  readonly databaseUrl: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service in a process of its own. */
export interface Mortal {
  readonly pid: number;
  readonly exited: Promise<void>;
  kill(signal: NodeJS.Signals): void;
  /** Calls as the superadmin; throws when the process dies. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Every `id: <seq>` and `event: <type>` of a run's stream from a cursor. */
  follow(runId: string, afterSeq: number): Promise<{ ids: number[]; types: string[] }>;
}

/** A process that listens, or works: an API or a worker. */
export interface MortalProcess {
  readonly pid: number;
  /** Where it answers; empty for a worker. */
  readonly url: string;
  readonly exited: Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a process and waits until it says that it is ready. */
export async function startMortalProcess(options: MortalOptions): Promise<MortalProcess> {
  const child = execa(process.execPath, [join(REPOSITORY, "test/service/programs/mortal-service.ts")], {
    extendEnv: false,
    env: {
      PATH: "/usr/bin:/bin",
      SERVICE_DATA_DIR: options.directory,
      SERVICE_PORT: "0",
      SERVICE_SANDBOX: "static",
      SERVICE_TURND_URLS: options.turndUrl,
      SERVICE_LEASE_MS: "10000",
      SERVICE_RUN_CONCURRENCY: "4",
      SERVICE_JWT_SECRET: "test-jwt-secret-0123456789abcdefghij",
      SERVICE_KEY_SECRET: "kit-key-secret-0123456789abcdefgh",
      SERVICE_SANDBOX_SECRET: "test-sandbox-secret-0123456789abcdef",
      MORTAL_MARK: join(options.directory, "died"),
      ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
      ...options.env,
    },
    reject: false,
    stdin: "ignore",
    buffer: false,
    cleanup: true,
  });
  const log: string[] = [];
  const { promise: listening, resolve } = Promise.withResolvers<string>();
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on("line", (line) => {
      log.push(line);
      if (!line.includes('"msg":"listening"')) return;
      resolve(/"url":"(http:[^"]+)"/.exec(line)?.[1] ?? "");
    });
  }
  const exited = Promise.resolve(child).then(() => undefined);
  const url = await Promise.race([
    listening,
    exited.then(() => {
      throw new Error(`the service ended before it listened:\n${log.join("\n")}`);
    }),
  ]);
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exited;
  });
  return { pid: child.pid ?? 0, url, exited, kill: (signal) => void child.kill(signal) };
}

/** Starts a service that does both, and logs in. */
export async function startMortal(options: MortalOptions): Promise<Mortal> {
  const { url, ...child } = await startMortalProcess(options);
  const { request } = createClient(url);
  const token = await waitFor("a login", async () => {
    const first = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
    if (first.status === 200) return String(first.body.access_token);
    const { body } = await request("POST", "/api/auth/token", { username: "root", password: PASSWORD });
    return typeof body?.access_token === "string" ? body.access_token : undefined;
  });
  const authorization = `Bearer ${token}`;
  return {
    ...child,
    call: (method, path, body) => request(method, path, body, { authorization }),
    async follow(runId, afterSeq) {
      const text = await request("GET", `/api/agent/runs/${runId}/events?after_seq=${afterSeq}`, undefined, {
        authorization,
        accept: "text/event-stream",
      });
      return {
        ids: [...text.text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)),
        types: [...text.text.matchAll(/^event: (\w+)$/gm)].map(([, type = ""]) => type),
      };
    },
  };
}
