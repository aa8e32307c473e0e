import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { createClient, type Answer } from "../../harness/client.ts";
import { startListening, type ListeningProcess } from "../../harness/listening-process.ts";
import { REPOSITORY } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { seedDataDirectory } from "./storage.ts";
import { PASSWORD } from "./auth.ts";
import { holdsSecret, SECRETS } from "./sentinel.ts";

export interface MortalOptions {
  readonly directory: string;
  readonly turndUrl: string;
  readonly databaseUrl: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
}

/** A service in a process of its own. */
export interface Mortal extends Omit<ListeningProcess, "url"> {
  /** Calls as the superadmin; throws when the process dies. */
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Uploads one document as a browser does. @returns its address in the knowledge base */
  upload(kbId: string, filename: string, content: string): Promise<string>;
  /** Every `id: <seq>` and `event: <type>` of a run's stream from a cursor. */
  follow(runId: string, afterSeq: number): Promise<{ ids: number[]; types: string[] }>;
}

/** Starts a process, an API or a worker, and waits until it says that it is ready. */
export async function startMortalProcess(options: MortalOptions): Promise<ListeningProcess> {
  if (options.databaseUrl === undefined) await seedDataDirectory(options.directory);
  const mortal = await startListening([process.execPath, join(REPOSITORY, "test/service/programs/mortal-service.ts")], {
    PATH: "/usr/bin:/bin",
    SERVICE_DATA_DIR: options.directory,
    SERVICE_PORT: "0",
    SERVICE_SANDBOX: "static",
    SERVICE_TURND_URLS: options.turndUrl,
    SERVICE_LEASE_MS: "10000",
    SERVICE_RUN_CONCURRENCY: "4",
    ...SECRETS,
    MORTAL_MARK: join(options.directory, "died"),
    ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
    ...options.env,
  });
  onTestFinished(async () => {
    mortal.kill("SIGKILL");
    await mortal.exited;
    expect(mortal.log.filter(holdsSecret), "lines of the log with a secret").toEqual([]);
  });
  return mortal;
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
