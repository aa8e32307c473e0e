import { join } from "node:path";
import { z } from "zod";
import { createClient, type Answer } from "./client.ts";
import { startListening } from "./listening-process.ts";
import { REPOSITORY } from "./temporary.ts";
import { waitFor } from "./wait-for.ts";

const PASSWORD = "correct horse battery";

/** The agent service in a process of its own, as an operator starts it, and its superadmin. */
export interface ServiceProcess {
  readonly url: string;
  call(method: string, path: string, body?: unknown): Promise<Answer>;
  /** Uploads an original. @returns its address */
  upload(kbId: string, filename: string, content: string): Promise<string>;
  /** A thread with CLI B. */
  thread(): Promise<string>;
  /** Submits a run. @returns its id */
  submit(threadId: string, query: string): Promise<string>;
  /** Its result, once it has ended. */
  result(runId: string): Promise<Answer["body"]>;
  /** The names of its `custom` events, and its last event. */
  eventsOf(runId: string): Promise<{ names: string[]; types: string[]; ids: number[] }>;
  kill(signal: NodeJS.Signals): Promise<void>;
}

/** Starts it on PGlite in a directory, and waits until it listens. */
export async function startServiceProcess(
  directory: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<ServiceProcess> {
  const { url, ...running } = await startListening(
    [process.execPath, join(REPOSITORY, "src/service/main.ts"), "serve"],
    {
      PATH: "/usr/bin:/bin",
      SERVICE_DATA_DIR: directory,
      SERVICE_PORT: "0",
      SERVICE_LEASE_MS: "10000",
      SERVICE_RATE_PER_MINUTE: "0",
      ...env,
    },
  );
  const client = createServiceClient(url, await logIn(url));
  return {
    ...client,
    async kill(signal) {
      running.kill(signal);
      await running.exited;
    },
  };
}

/** A token of the superadmin `root`, who is made where there is no account yet. */
export async function logIn(url: string, initToken?: string): Promise<string> {
  const { request } = createClient(url);
  return waitFor("a login", async () => {
    const who = { username: "root", password: PASSWORD };
    const made = await request("POST", "/api/auth/initialize", {
      ...who,
      ...(initToken === undefined ? {} : { init_token: initToken }),
    });
    const { body } = made.status === 200 ? made : await request("POST", "/api/auth/token", who);
    return typeof body?.access_token === "string" ? body.access_token : undefined;
  });
}

/** Calls of a service that runs already. */
export function createServiceClient(url: string, token: string): Omit<ServiceProcess, "kill"> {
  const { request } = createClient(url);
  const call: ServiceProcess["call"] = (method, path, body) =>
    request(method, path, body, { authorization: `Bearer ${token}` });
  return {
    url,
    call,
    async upload(kbId, filename, content) {
      const form = new FormData();
      form.set("file", new Blob([content]), filename);
      const headers = { authorization: `Bearer ${token}` };
      const answer = await fetch(`${url}/api/knowledge/files/upload?kb_id=${kbId}`, {
        method: "POST",
        headers,
        body: form,
      });
      const { file_path: path } = z.object({ file_path: z.string() }).parse(await answer.json());
      return path;
    },
    async thread() {
      return String((await call("POST", "/api/chat/thread", { agent_id: "cli-b" })).body.id);
    },
    async submit(threadId, query) {
      const { body } = await call("POST", "/api/agent/runs", { agent_slug: "cli-b", thread_id: threadId, query });
      return String(body.run_id);
    },
    result: (runId) =>
      waitFor(
        "the run's end",
        async () => {
          const { body } = await call("GET", `/api/agent/runs/${runId}/result`);
          return body.final === true ? body : undefined;
        },
        300_000,
      ),
    async eventsOf(runId) {
      const { body } = await call("GET", `/api/agent/runs/${runId}/events?format=json&limit=500`);
      const events: { seq: number; event: string; payload: { name?: string } }[] = body.events;
      return {
        names: events.flatMap(({ payload: { name } }) => (name === undefined ? [] : [name])),
        types: events.map(({ event }) => event),
        ids: events.map(({ seq }) => seq),
      };
    },
  };
}
