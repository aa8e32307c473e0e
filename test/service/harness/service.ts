import { setTimeout as delay } from "node:timers/promises";
import { createParser } from "eventsource-parser";
import { pino } from "pino";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { createStaticSandboxes } from "../../../src/service/sandboxes/static/static.ts";
import { startService } from "../../../src/service/service.ts";
import type { ServiceOptions } from "../../../src/service/serve/service-options.ts";
import type { ProcessRole } from "../../../src/service/serve/service-options.ts";
import { readSettings } from "../../../src/service/settings/settings.ts";
import { createClient, type Answer, type Client } from "../../harness/client.ts";
import { startDaemon, type TestDaemon } from "../../harness/daemon.ts";
import { fakeEnv } from "../../harness/fake-env.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { createSentinel, SECRETS } from "./sentinel.ts";
import { freshDatabase, freshDatabaseUrl, seedDataDirectory, type EngineKind } from "./storage.ts";
import { PASSWORD } from "./auth.ts";

const LOOK_MS = 50;

/** An event of a run, as it was sent. */
export interface SentEvent {
  readonly id: string;
  readonly event: string;
  // Tests look into payloads of every shape; each asserts what it reads.
  readonly data: ReturnType<typeof JSON.parse>;
}

/** A service as one user sees it, who is logged in. */
export interface ServiceUser {
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
}

/** A whole service with a turnd, seen by its first superadmin. */
export interface TestService extends ServiceUser {
  /** Another superadmin, who has nothing yet. */
  makeUser(): Promise<ServiceUser>;
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
  /** When it ends; absent: with the test. */
  readonly onDone?: (cleanUp: () => Promise<void>) => void;
}

/** What a test that shares its service has: the turnd of all, and a user of its own. */
export interface SharedService {
  readonly turnd: TestDaemon;
  readonly service: ServiceUser;
}

/** One service on PostgreSQL with one turnd for all tests of a file. @returns makes a test's user */
export function shareService(env: Readonly<Record<string, string>> = {}): () => Promise<SharedService> {
  let shared: { turnd: TestDaemon; service: TestService } | undefined;
  beforeAll(async () => {
    const directory = temporaryDirectory(afterAll);
    const turnd = await startDaemon({ directory, env: fakeEnv(directory) });
    afterAll(async () => void (await turnd.stop()));
    const options = {
      turndUrl: turnd.url,
      databaseUrl: await freshDatabaseUrl(),
      directory: temporaryDirectory(afterAll),
    };
    shared = { turnd, service: await startTestService({ ...options, env, onDone: afterAll }) };
  });
  return async () => {
    if (shared === undefined) throw new Error("the service did not start");
    return { turnd: shared.turnd, service: await shared.service.makeUser() };
  };
}

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
  const sentinel = createSentinel();
  let storage: Storage | undefined;
  const shown = process.env["SVC_TEST_LOG"];
  const write = (line: string): void => {
    sentinel.watch("the log", line);
    onLog?.(line);
  };
  const service = await startService({
    settings,
    role: options.role ?? "serve",
    logger: shown === undefined || onLog !== undefined ? pino({ level: "trace" }, { write }) : pino({ level: shown }),
    version: "test",
    createSandboxes: async (means) => {
      ({ storage } = means);
      return options.createSandboxes === undefined
        ? createStaticSandboxes({ storage, urls: settings.values.SERVICE_TURND_URLS, token: undefined })
        : options.createSandboxes(means);
    },
    onStep: options.onStep,
  });
  let hasLooked = false;
  const stop = async (): Promise<void> => {
    try {
      if (!hasLooked) await look();
    } finally {
      await service.stop();
    }
  };
  const look = async (): Promise<void> => {
    hasLooked = true;
    if (service.url !== undefined) sentinel.watch("the metrics", (await client.request("GET", "/metrics")).text);
    await sentinel.assertClean(storage);
  };
  (options.onDone ?? onTestFinished)(stop);
  const url = service.url ?? "";
  const client = createClient(url);
  const request: typeof client.request = async (...call) => {
    const answer = await client.request(...call);
    if (answer.status >= 400) sentinel.watch(`the answer of ${call[0]} ${call[1]}`, answer.text);
    if (typeof answer.body?.device_code === "string") sentinel.learn(answer.body.device_code);
    return answer;
  };
  const first = await request("POST", "/api/auth/initialize", { username: "root", password: PASSWORD });
  const { access_token } =
    first.status === 200
      ? first.body
      : (await request("POST", "/api/auth/token", { username: "root", password: PASSWORD })).body;
  const root = actAs({ url, request }, access_token);
  return {
    ...root,
    async makeUser() {
      const login = { username: `u${crypto.randomUUID().slice(0, 8)}`, password: PASSWORD };
      await root.call("POST", "/api/auth/users", { ...login, role: "superadmin" });
      return actAs({ url, request }, (await request("POST", "/api/auth/token", login)).body.access_token);
    },
    stop,
  };
}

function actAs({ url, request }: Pick<Client, "url" | "request">, token: string): ServiceUser {
  const always = { authorization: `Bearer ${token}` };
  const call: ServiceUser["call"] = (method, path, body, headers) =>
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
        return body.final === true ? body : lookLater();
      });
    },
    authorization: () => always.authorization,
  };
}

/** An end does not pass: to ask a hundred times a second only takes the CPU from what is waited for. */
async function lookLater(): Promise<undefined> {
  await delay(LOOK_MS);
}

/** Every frame of a stream; also passed on as they come, where a test must not wait for the end. */
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
