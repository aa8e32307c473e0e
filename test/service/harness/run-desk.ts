import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { putAgents, readAgentsFile } from "../../../src/service/agents/seed.ts";
import type { KnownActor } from "../../../src/service/auth/accounts.ts";
import type { QueuePolicy } from "../../../src/service/protocol/runs.ts";
import { claim, handOver } from "../../../src/service/runs/state/claim.ts";
import { finish, type FinishOptions, type Outcome } from "../../../src/service/runs/state/finish.ts";
import type { Ownership } from "../../../src/service/runs/state/rows.ts";
import type { Intent } from "../../../src/service/runs/submit/intent.ts";
import { append } from "../../../src/service/runs/state/append.ts";
import { createRuns } from "../../../src/service/runs/runs.ts";
import { assignSteer } from "../../../src/service/runs/state/steer.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { makeUser } from "./auth.ts";

/** What happens to the runs of one thread, without workers and without turnd: a test plays the attempts. */
export type RunDesk = Awaited<ReturnType<typeof openRunDesk>>;

const SLUG = "cli-b-plan";

export async function openRunDesk(storage: Storage, options: { actor?: KnownActor; maxQueued?: number } = {}) {
  await putAgents(storage, await readAgentsFile(undefined));
  const actor = options.actor ?? (await makeUser(storage));
  const { caller } = actor;
  const { id: agentId } = await storage.db
    .selectFrom("agent")
    .select("id")
    .where("slug", "=", SLUG)
    .executeTakeFirstOrThrow();
  const threadId = `t-${randomUUID()}`;
  const { pk: threadPk } = await storage.db
    .insertInto("thread")
    .values({ user_id: caller.userId, id: threadId, agent_id: agentId, session_id: randomUUID() })
    .returning("pk")
    .executeTakeFirstOrThrow();
  const finishing: FinishOptions = { storage, eventsRetentionMs: 600_000, onRunEnded: async () => undefined };
  const runs = createRuns({
    storage,
    finishing,
    maxQueued: options.maxQueued ?? 100,
    logger: pino({ level: "silent" }),
  });

  const intent = (requestId: string, queuePolicy: QueuePolicy, more: Partial<Intent> = {}): Intent => ({
    source: "chat",
    requestId,
    threadId,
    agentSlug: SLUG,
    input: { query: `do ${requestId}`, images: [] },
    options: {},
    queuePolicy,
    makesThread: false,
    ...more,
  });

  return {
    actor,
    runs,
    storage,
    finishing,
    threadPk,
    threadId,
    submit: (requestId: string, queuePolicy: QueuePolicy, more?: Partial<Intent>) =>
      runs.accept(caller, intent(requestId, queuePolicy, more)),
    resume: (requestId: string, parentRunId: string, asked: Intent["options"] = {}) =>
      runs.accept(
        caller,
        intent(requestId, "enqueue", {
          options: asked,
          input: {
            query: "",
            images: [],
            resume: { decisions: [{ type: "approve" }] },
            parent_run_id: parentRunId,
          },
        }),
      ),
    async claim(runId: string): Promise<Ownership | undefined> {
      const claimed = await claim(storage, runId, "test");
      return claimed === undefined ? undefined : { runId, threadPk, attempt: claimed.run.attempt };
    },
    write: (owner: Ownership) =>
      append(storage, owner, [{ event: "custom", payload: { name: "svc.warning", code: "x", message: "x" } }], {
        isNoticed: true,
        turnCursor: 1,
        isFirstMove: true,
      }),
    finish: (owner: Ownership, outcome: Outcome) => finish(finishing, owner, outcome),
    handOver: (owner: Ownership) => handOver(storage, owner.runId, owner.attempt),
    promise: (owner: Ownership, requestPk: number) => assignSteer(storage, owner, requestPk),
    requests: () =>
      storage.db.selectFrom("run_request").selectAll().where("thread_pk", "=", threadPk).orderBy("pk").execute(),
    runRows: () => storage.db.selectFrom("run").selectAll().where("thread_pk", "=", threadPk).orderBy("id").execute(),
    events: (runId: string) =>
      storage.db.selectFrom("run_event").selectAll().where("run_id", "=", runId).orderBy("seq").execute(),
    async view() {
      return (await runs.queue(caller, threadId)).queue.status;
    },
  };
}

/** How a played attempt ends its run. */
export function outcomeOf(status: Outcome["status"]): Outcome {
  switch (status) {
    case "completed":
      return { status, output: "done" };
    case "cancelled":
      return { status, reason: "cancelled_by_user", output: "" };
    case "failed":
      return {
        status,
        output: "",
        error: { type: "unknown", message: "it failed", retryable: false, user_action: "operator" },
      };
    case "interrupted":
      return { status, output: "plan", interrupt: { reason: "human_approval", plan: { text: "plan" } } };
  }
}
