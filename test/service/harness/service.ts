import { createParser } from "eventsource-parser";
import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createStaticSandboxes } from "../../../src/service/sandboxes/static/static.ts";
import { startService, type ProcessRole, type ServiceOptions } from "../../../src/service/service.ts";
import { readSettings } from "../../../src/service/settings.ts";
import { createClient, type Answer } from "../../harness/client.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { freshDatabase, seedDataDirectory, type EngineKind } from "./storage.ts";
import { PASSWORD } from "./auth.ts";

/** An event of a run, as it was sent. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  // Tests look into payloads of every shape; each asserts what it reads.
  readonly data: ReturnType<typeof JSON.parse>;
}

/** A whole service with a turnd, and a user who is logged in. */
export interface TestService {
  readonly url: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  thread(agent?: string): Promise<string>;
  submit(threadId: string, query: string, more?: Record<string, unknown>): Promise<Answer["body"]>;
  /** Follows a run to its end. */
  events(runId: string, query?: string): Promise<SentEvent[]>;
  /** Waits until it has ended. */
  result(runId: string): Promise<Answer["body"]>;
  /** The header that the calls carry. */
  authorization(): string;
  stop(): Promise<void>;
}

export interface TestServiceOptions {
  readonly turndUrl: string;
  readonly directory?: string;
  readonly databaseUrl?: string | undefined;
  readonly env?: Readonly<Record<string, string>>;
  readonly role?: ProcessRole;
  readonly onStep?: ServiceOptions["onStep"];
  /** Instead of the turnd that runs already. */
  readonly createSandboxes?: ServiceOptions["createSandboxes"];
  /** Gets every line of the log, at its lowest level. */
  readonly onLog?: (line: string) => void;
}

/** The three that a service on PostgreSQL needs. */
export const SECRETS = {
  SERVICE_JWT_SECRET: "test-jwt-secret-0123456789abcdefghij",
  SERVICE_KEY_SECRET: "kit-key-secret-0123456789abcdefgh",
  SERVICE_SANDBOX_SECRET: "test-sandbox-secret-0123456789abcdef",
};

/** A service on a fresh database of an engine. */
export async function freshService(
  kind: EngineKind,
  options: Omit<TestServiceOptions, "databaseUrl">,
): Promise<TestService> {
  const database = await freshDatabase(kind);
  return startTestService({ ...options, databaseUrl: database.kind === "postgres" ? database.url : undefined });
}

export async function startTestService(options: TestServiceOptions): Promise<TestService> {
  const directory = options.directory ?? temporaryDirectory(onTestFinished);
  if (options.databaseUrl === undefined) await seedDataDirectory(directory);
  const settings = readSettings(
    {
      SERVICE_DATA_DIR: directory,
      SERVICE_PORT: "0",
      SERVICE_SANDBOX: "static",
      SERVICE_TURND_URLS: options.turndUrl,
      SERVICE_LEASE_MS: "10000",
      SERVICE_RATE_PER_MINUTE: "0",
      SERVICE_RUN_CONCURRENCY: "4",
      ...SECRETS,
      ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: options.databaseUrl }),
      ...options.env,
    },
    process.getuid?.() ?? 0,
  );
  const { onLog } = options;
  const logger =
    onLog === undefined
      ? pino({ level: process.env["SVC_TEST_LOG"] ?? "silent" })
      : pino({ level: "trace" }, { write: onLog });
  const service = await startService({
    settings,
    role: options.role ?? "serve",
    logger,
    version: "test",
    createSandboxes:
      options.createSandboxes ??
      (async ({ storage }) =>
        createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined })),
    onStep: options.onStep,
  });
  onTestFinished(() => service.stop());
  const url = service.url ?? "";
  const { request } = createClient(url);
  const first = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const { access_token } =
    first.status === 200
      ? first.body
      : (await request("POST", "/api/auth/token", { username: "root", password: PASSWORD })).body;
  const always = { authorization: `Bearer ${access_token}` };
  const call: TestService["call"] = (method, path, body, headers) =>
    request(method, path, body, { ...always, ...headers });

  return {
    url,
    call,
    async thread(agent = "cli-b") {
      const { body } = await call("POST", "/api/chat/thread", { agent_id: agent });
      return body.id;
    },
    async submit(threadId, query, more = {}) {
      const { body } = await call("POST", "/api/agent/runs", {
        agent_slug: "cli-b",
        thread_id: threadId,
        query,
        ...more,
      });
      return body;
    },
    async events(runId, query = "") {
      const response = await fetch(`${url}/api/agent/runs/${runId}/events${query}`, {
        headers: { ...always, accept: "text/event-stream" },
      });
      if (!response.ok || response.body === null) throw new Error(`${response.status} ${await response.text()}`);
      return readAll(response.body);
    },
    async result(runId) {
      return waitFor("the run's end", async () => {
        const { body } = await call("GET", `/api/agent/runs/${runId}/result`);
        return body.final === true ? body : undefined;
      });
    },
    authorization: () => always.authorization,
    stop: () => service.stop(),
  };
}

/** Every frame of a stream; told as they come, where a test must not wait for the end. */
export async function readAll(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  onFrame?: (frame: SentEvent) => void,
): Promise<SentEvent[]> {
  const frames: SentEvent[] = [];
  const parser = createParser({
    onEvent({ id = "", event = "", data }) {
      const frame = { id, event, data: JSON.parse(data) };
      frames.push(frame);
      onFrame?.(frame);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) parser.feed(decoder.decode(chunk, { stream: true }));
  return frames;
}
