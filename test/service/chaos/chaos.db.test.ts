import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import pg from "pg";
import { createClient } from "../../harness/client.ts";
import { fakeDaemon } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { PASSWORD } from "../harness/auth.ts";
import { createCrowd, type Crowd, type Seen } from "../harness/crowd.ts";
import type { ListeningProcess } from "../../harness/listening-process.ts";
import { startKillableProcess, type KillableOptions } from "../harness/killable.ts";
import { startPostgresCluster, type PostgresCluster } from "../harness/postgres-cluster.ts";
import { createRandom, type Random } from "../harness/random.ts";

/** How long everything is disturbed; `npm run soak service` does it for longer. */
const CHAOS_MS = 12_000;
const SETTLE_MS = 240_000;
/** The least lease that there is; a process that sleeps longer has lost its runs. */
const LEASE_MS = 10_000;
const API_PROCESSES = 2;
const WORKER_PROCESSES = 2;
const THREADS = 5;
const CLIENTS = 4;

vi.setConfig({ testTimeout: 600_000 });

/** Processes of one service, each killed and started again. */
interface Fleet {
  readonly urls: () => readonly string[];
  /** Ends one and starts another in its place; or puts one to sleep for longer than its lease. */
  disturb(random: Random): Promise<string>;
}

async function startFleet(options: KillableOptions): Promise<Fleet> {
  const roles = [
    ...Array.from({ length: API_PROCESSES }, () => "api"),
    ...Array.from({ length: WORKER_PROCESSES }, () => "worker"),
  ];
  const start = (role: string) => startKillableProcess({ ...options, env: { KILLABLE_ROLE: role } });
  const members: { role: string; process: ListeningProcess | undefined }[] = [];
  // One after the other: the first one makes the schema.
  for (const role of roles) members.push({ role, process: await start(role) });
  return {
    urls: () => members.flatMap(({ process }) => (process === undefined || process.url === "" ? [] : [process.url])),
    async disturb(random) {
      const member = random.pick(members);
      const { process, role } = member;
      if (process === undefined) return "nothing: it is being started";
      if (random.below(3) === 0) {
        process.kill("SIGSTOP");
        await delay(LEASE_MS * 1.5);
        process.kill("SIGCONT");
        return `${role} slept`;
      }
      member.process = undefined;
      process.kill("SIGKILL");
      await process.exited;
      // The database may be away just now: an operator's supervisor starts it again, too.
      member.process = await waitFor("a start", () => start(role).catch(() => undefined));
      return `${role} killed`;
    },
  };
}

/** Ends the database, or one of its backends. */
async function disturbDatabase(random: Random, cluster: PostgresCluster): Promise<string> {
  const signal = random.pick(["SIGINT", "SIGQUIT", "SIGKILL", "backends"] as const);
  if (signal !== "backends") {
    await cluster.restart(signal);
    return `PostgreSQL ${signal}`;
  }
  const client = new pg.Client({ connectionString: cluster.url });
  client.on("error", () => undefined);
  await client.connect();
  await client.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename = 'svc' and random() < 0.3",
  );
  await client.end();
  return "PostgreSQL backends";
}

/** What clients have done so far. */
interface Log {
  readonly threads: readonly string[];
  /** Request ids that were answered, with what they asked. */
  readonly accepted: Map<string, { threadId: string; query: string }>;
  readonly runs: Map<string, Promise<Seen[]>>;
}

/** One client, at random: submits, repeats, steers, cancels, continues. */
async function behave(random: Random, crowd: Crowd, log: Log, until: () => boolean): Promise<void> {
  const noteRun = (runId: unknown): void => {
    if (typeof runId === "string" && !log.runs.has(runId)) log.runs.set(runId, crowd.follow(runId));
  };
  while (!until()) {
    const threadId = random.pick(log.threads);
    const known = [...log.accepted.keys()];
    const action = random.below(10);
    if (action < 6 || known.length === 0) {
      const requestId = `r-${randomUUID()}`;
      const text = `Answer ${requestId}.`;
      const query = random.pick([text, `paced 8 0.2\n${text}`, `paced 30 0.1\n${text}`, `exit 3`]);
      const body = {
        agent_slug: "cli-b",
        thread_id: threadId,
        query,
        queue_policy: random.pick(["enqueue", "enqueue", "reject", "steer"]),
        meta: { request_id: requestId },
      };
      const answer = await crowd.ask("POST", "/api/agent/runs", body);
      expect([200, 409]).toContain(answer.status);
      if (answer.status === 200) {
        log.accepted.set(requestId, { threadId, query });
        noteRun(answer.body.run_id);
        // The same again, from a client that did not get the answer.
        if (random.below(3) === 0) {
          const again = await crowd.ask("POST", "/api/agent/runs", body);
          expect([again.status, again.body.request_id]).toEqual([200, requestId]);
          noteRun(again.body.run_id);
        }
      }
    } else if (action === 6) {
      const { body } = await crowd.ask("GET", `/api/agent/requests/${random.pick(known)}`);
      noteRun(body.request.run_id);
      if (body.request.run_id !== null) await crowd.ask("POST", `/api/agent/runs/${body.request.run_id}/cancel`);
    } else if (action === 7) {
      await crowd.ask("POST", `/api/agent/requests/${random.pick(known)}/cancel`);
    } else {
      await crowd.ask("POST", `/api/agent/thread/${threadId}/requests/continue`);
    }
    await delay(random.below(400));
  }
}

async function settle(crowd: Crowd, threads: readonly string[]): Promise<void> {
  for (const threadId of threads) {
    await waitFor(
      "the thread is idle",
      async () => {
        const { body } = await crowd.ask("GET", `/api/agent/thread/${threadId}/requests`);
        if (body.queue.can_continue) await crowd.ask("POST", `/api/agent/thread/${threadId}/requests/continue`);
        return body.queue.status === "idle";
      },
      SETTLE_MS,
    );
  }
}

test("processes and PostgreSQL are killed at random while clients work: nothing is lost, nothing is done twice", async () => {
  const random = createRandom();
  const turnd = await fakeDaemon({ TURND_MAX_TURNS: "8" });
  const cluster = await startPostgresCluster();
  onTestFinished(() => cluster.stop());
  const fleet = await startFleet({
    directory: temporaryDirectory(onTestFinished),
    turndUrl: turnd.url,
    databaseUrl: cluster.url,
    env: {},
  });
  const login = { username: "root", password: PASSWORD };
  const { body: session } = await createClient(fleet.urls()[0] ?? "").request("POST", "/api/auth/initialize", login);
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const crowd = createCrowd({ urls: fleet.urls, token: session.access_token, random, signal: ending.signal });
  const threads: string[] = [];
  for (let made = 0; made < THREADS; made += 1) {
    threads.push((await crowd.ask("POST", "/api/chat/thread", { agent_id: "cli-b" })).body.id);
  }
  const log: Log = { threads, accepted: new Map(), runs: new Map() };

  const endsAt = performance.now() + CHAOS_MS;
  const isOver = (): boolean => performance.now() > endsAt;
  const done: string[] = [];
  const disturbers = [
    async () => {
      while (!isOver()) done.push(await fleet.disturb(random));
    },
    async () => {
      while (!isOver()) {
        await delay(3_000 + random.below(6_000));
        done.push(await disturbDatabase(random, cluster));
      }
    },
  ];
  await Promise.all([
    ...disturbers.map((disturb) => disturb()),
    ...Array.from({ length: CLIENTS }, () => behave(random, crowd, log, isOver)),
  ]);
  await settle(crowd, threads);
  process.stdout.write(`${done.join(", ")}; ${log.accepted.size} requests\n`);

  // Nothing lost: every request that was answered is there, and its run has ended once.
  const { body: turns } = await turnd.request("GET", "/v1/turns?limit=1000");
  const turnsOf = (runId: string): unknown[] =>
    turns.turns.filter(({ request_id }: { request_id: string }) => request_id === runId);
  for (const [requestId, { query }] of log.accepted) {
    const { body } = await crowd.ask("GET", `/api/agent/requests/${requestId}`);
    const { status, run_id: runId } = body.request;
    expect([requestId, status]).toEqual([requestId, expect.stringMatching(/^(dispatched|rejected|cancelled)$/)]);
    if (status !== "dispatched") {
      expect([requestId, turnsOf(runId ?? "none")]).toEqual([requestId, []]);
      continue;
    }
    const { body: result } = await crowd.ask("GET", `/api/agent/runs/${runId}/result`);
    expect(result).toMatchObject({ final: true, run_id: runId, request_id: requestId });
    if (result.status === "completed" && result.output !== "") expect(query).toContain(result.output);
    const { body: page } = await crowd.ask("GET", `/api/agent/runs/${runId}/events?format=json&limit=500`);
    const events: { seq: number; event: string; payload: { name?: string } }[] = page.events;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ event }) => event === "end")).toEqual([events.at(-1)]);
    const followed = events.filter(({ payload }) => payload.name === "svc.turn").length;
    expect(followed).toBeLessThanOrEqual(1);
    // Nothing doubled: one turn for one run, counted at turnd.
    expect(turnsOf(runId).length).toBeLessThanOrEqual(1);
    if (followed === 1) expect(turnsOf(runId)).toHaveLength(1);
    const seen = await log.runs.get(runId);
    if (seen !== undefined) expect(seen.map(({ data }) => JSON.parse(data))).toEqual(events);
  }
  const { body: all } = await crowd.ask("GET", "/api/agent/runs?limit=500");
  const ids = new Set(all.runs.map(({ run_id }: { run_id: string }) => run_id));
  expect(turns.turns.filter(({ request_id }: { request_id: string }) => !ids.has(request_id))).toEqual([]);
  expect(all.runs.filter(({ blocking }: { blocking: boolean }) => blocking)).toEqual([]);
  const odd = all.runs.filter(
    ({ status, error }: { status: string; error: { type: string } | null }) =>
      status === "failed" && ["executor_lost", "executor_unreachable", "unknown"].includes(error?.type ?? ""),
  );
  expect(odd.map(({ error }: { error: unknown }) => error)).toEqual([]);
});
