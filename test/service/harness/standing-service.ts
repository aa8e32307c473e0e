import { pino } from "pino";
import { afterAll } from "vitest";
import { createStaticSandboxes } from "../../../src/service/sandboxes/static/static.ts";
import { startService } from "../../../src/service/service.ts";
import { readSettings } from "../../../src/service/settings/settings.ts";
import { createClient, type Answer } from "../../harness/client.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { PASSWORD } from "./auth.ts";
import { createSentinel, SECRETS } from "./sentinel.ts";
import { freshDatabaseUrl } from "./storage.ts";

/** A service that all tests of a file use, without a turnd; its superadmin is `root`. */
export interface StandingService {
  readonly url: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** A new API key of a user, who is made where a name and role are given. */
  key(user?: { username: string; role: "user" | "admin" }): Promise<string>;
  /** @returns its id */
  knowledgeBase(more?: Record<string, unknown>): Promise<string>;
  /** Waits for a task's end. */
  ended(taskId: string): Promise<Answer["body"]>;
}

/** Called from `beforeAll`; it ends with the file. */
export async function startStandingService(env: Readonly<Record<string, string>> = {}): Promise<StandingService> {
  const settings = readSettings(
    {
      SERVICE_DATA_DIR: temporaryDirectory(afterAll),
      DATABASE_URL: await freshDatabaseUrl(),
      ...SECRETS,
      SERVICE_PORT: "0",
      SERVICE_SANDBOX: "static",
      SERVICE_TURND_URLS: "http://127.0.0.1:9",
      SERVICE_RATE_PER_MINUTE: "0",
      SERVICE_RATE_ANONYMOUS_PER_MINUTE: "0",
      ...env,
    },
    process.getuid?.() ?? 0,
  );
  const sentinel = createSentinel();
  let storage: Storage | undefined;
  const service = await startService({
    settings,
    role: "serve",
    logger: pino({ level: "trace" }, { write: (line: string) => sentinel.watch("the log", line) }),
    version: "test",
    createSandboxes: async (means) => {
      ({ storage } = means);
      return createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined });
    },
  });
  afterAll(async () => {
    try {
      await sentinel.assertClean(storage);
    } finally {
      await service.stop();
    }
  });
  const url = service.url ?? "";
  const { request } = createClient(url);
  const { body: first } = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const authorization = `Bearer ${first.access_token}`;
  const call: StandingService["call"] = (method, path, body, headers) =>
    request(method, path, body, { authorization, ...headers });

  return {
    url,
    call,
    async key(user) {
      const made =
        user === undefined ? undefined : (await call("POST", "/api/auth/users", { ...user, password: PASSWORD })).body;
      const { body } = await call("POST", "/api/user/apikey", {
        request_id: `key-${crypto.randomUUID()}`,
        name: "test",
        ...(made === undefined ? {} : { user_id: made.user.id }),
      });
      return body.secret;
    },
    async knowledgeBase(more = {}) {
      const { body } = await call("POST", "/api/knowledge/databases", { name: `kb ${crypto.randomUUID()}`, ...more });
      return body.database.kb_id;
    },
    ended: (taskId) =>
      waitFor("the task's end", async () => {
        const { task } = (await call("GET", `/api/tasks/${taskId}`)).body;
        return ["success", "failed", "cancelled"].includes(task.status) ? task : undefined;
      }),
  };
}
