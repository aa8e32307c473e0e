import { join } from "node:path";
import { expect, inject, onTestFinished } from "vitest";
import { createClient, type Answer } from "../../harness/client.ts";
import { startListening, type ListeningProcess } from "../../harness/listening-process.ts";
import type { TestDaemon } from "../../harness/daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshDatabase, seedDataDirectory, type EngineKind } from "./storage.ts";
import { PASSWORD } from "./auth.ts";
import { holdsSecret, SECRETS } from "./sentinel.ts";

export interface KillableOptions {
  readonly directory: string;
  readonly turndUrl: string;
  readonly databaseUrl: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service in a process of its own. */
export interface Killable extends Omit<ListeningProcess, "url"> {
  /** Calls as the superadmin; throws when the process ends. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Uploads one document as a browser does. @returns its address in the knowledge base */
  upload(kbId: string, filename: string, content: string): Promise<string>;
  /** Makes a thread with CLI B. @returns its id */
  thread(requestId?: string): Promise<string>;
  /** Waits until a run is over: a lease, on a loaded machine. */
  result(runId: string): Promise<Answer["body"]>;
  /** Every `id: <seq>` and `event: <type>` of a run's stream from a cursor. */
  follow(runId: string, afterSeq: number): Promise<{ ids: number[]; types: string[] }>;
}

const RUN_ENDS_MS = 240_000;

/** A database and a directory, on which one service after another is started. */
export async function makeSite(kind: EngineKind, turndUrl: string) {
  const database = await freshDatabase(kind);
  const options = {
    directory: temporaryDirectory(onTestFinished),
    turndUrl,
    databaseUrl: database.kind === "postgres" ? database.url : undefined,
  };
  return {
    start: (env: Readonly<Record<string, string>> = {}): Promise<Killable> => startKillable({ ...options, env }),
  };
}

/** The requests of the turns that a turnd has: of one of this service's turns, its run. */
export async function turnsOf(turnd: TestDaemon): Promise<string[]> {
  const { body } = await turnd.request("GET", "/v1/turns");
  return body.turns.map(({ request_id }: { request_id: string }) => request_id);
}

/** No gap among a run's events, and one end, which is the last. */
export async function expectWholeStream(service: Killable, runId: string, about: string): Promise<void> {
  const { ids, types } = await service.follow(runId, 0);
  expect(ids, about).toEqual(ids.map((_, index) => index + 1));
  expect(types.indexOf("end"), about).toBe(types.length - 1);
  expect(types, about).not.toContain("error");
}

/** Starts a process, an API or a worker, and waits until it is ready. */
export async function startKillableProcess(options: KillableOptions): Promise<ListeningProcess> {
  if (options.databaseUrl === undefined) await seedDataDirectory(options.directory);
  const killable = await startListening([process.execPath, inject("killableService")], {
    PATH: "/usr/bin:/bin",
    SERVICE_DATA_DIR: options.directory,
    SERVICE_PORT: "0",
    SERVICE_SANDBOX: "static",
    SERVICE_TURND_URLS: options.turndUrl,
    // Tests poll.
    SERVICE_RATE_PER_MINUTE: "0",
    SERVICE_LEASE_MS: "10000",
    SERVICE_RUN_CONCURRENCY: "4",
    ...SECRETS,
    KILLABLE_MARK: join(options.directory, "killed"),
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.env,
  });
  onTestFinished(async () => {
    killable.kill("SIGKILL");
    await killable.exited;
    expect(killable.log.filter(holdsSecret), "lines of the log with a secret").toEqual([]);
  });
  return killable;
}

/** Starts a service that does both, and logs in. */
export async function startKillable(options: KillableOptions): Promise<Killable> {
  const { url, ...child } = await startKillableProcess(options);
  const { request } = createClient(url);
  const token = await waitFor("a login", async () => {
    const first = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
    if (first.status === 200) return String(first.body.access_token);
    const { body } = await request("POST", "/api/auth/token", { username: "root", password: PASSWORD });
    return typeof body?.access_token === "string" ? body.access_token : undefined;
  });
  const authorization = `Bearer ${token}`;
  const call: Killable["call"] = (method, path, body) => request(method, path, body, { authorization });
  return {
    ...child,
    call,
    async thread(requestId) {
      const { body } = await call("POST", "/api/chat/thread", { agent_id: "cli-b", request_id: requestId });
      return body.id;
    },
    result: (runId) =>
      waitFor(
        "the run's end",
        async () => {
          const { body } = await call("GET", `/api/agent/runs/${runId}/result`);
          return body.final === true ? body : undefined;
        },
        RUN_ENDS_MS,
      ),
    async upload(kbId, filename, content) {
      const body = new FormData();
      body.set("file", new Blob([content]), filename);
      const address = `${url}/api/knowledge/files/upload?kb_id=${kbId}`;
      const answer = await fetch(address, { method: "POST", headers: { authorization }, body });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return JSON.parse(text).file_path;
    },
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
