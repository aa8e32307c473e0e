import { describe, expect, test } from "vitest";
import { ApiProblem } from "../../../../src/service/protocol/problems.ts";
import { OwnershipLost } from "../../../../src/service/runs/state/failures.ts";
import { cancelAllOf } from "../../../../src/service/runs/state/cancel.ts";
import type { AcceptedRequest } from "../../../../src/service/runs/submit/intent.ts";
import { testAuth } from "../../harness/auth.ts";
import { openRunDesk, outcomeOf, type RunDesk } from "../../harness/run-desk.ts";
import { ENGINES, shareStorage } from "../../harness/storage.ts";

const POLICIES = ["enqueue", "reject", "steer"] as const;
const TIMES = Array.from({ length: 20 }, (_, index) => index);

function tally(given: readonly string[]): Record<string, number> {
  return given.reduce<Record<string, number>>((all, each) => ({ ...all, [each]: (all[each] ?? 0) + 1 }), {});
}

/** What each call answered: its request's status, or the code it was refused with. */
async function answers(
  works: readonly Promise<AcceptedRequest | { status: string }>[],
): Promise<Record<string, number>> {
  return tally(
    await Promise.all(
      works.map((work) =>
        work.then(
          (done) => ("request" in done ? done.request.status : done.status),
          (error: unknown) => {
            if (error instanceof ApiProblem) return error.code;
            if (error instanceof OwnershipLost) return "lost";
            throw error;
          },
        ),
      ),
    ),
  );
}

/** A thread with a run that is under way. */
async function running(desk: RunDesk) {
  const { run } = await desk.submit("first", "enqueue");
  const owner = await desk.claim(run?.id ?? "");
  if (owner === undefined) throw new Error("the run was not claimed");
  return owner;
}

async function interrupted(desk: RunDesk): Promise<string> {
  const owner = await running(desk);
  await desk.finish(owner, outcomeOf("interrupted"));
  return owner.runId;
}

describe.each(ENGINES)("%s", (kind) => {
  const storage = shareStorage(kind);
  const expected = {
    idle: {
      enqueue: { dispatched: 1, queued: 19 },
      reject: { dispatched: 1, rejected: 19 },
      steer: { dispatched: 1, run_not_steerable: 19 },
    },
    busy: {
      enqueue: { queued: 20 },
      reject: { rejected: 20 },
      steer: { queued: 1, steer_already_pending: 19 },
    },
  };

  test.each(POLICIES)("twenty submissions with %s at once: one run, the rest in order or refused", async (policy) => {
    const desk = await openRunDesk(storage());
    expect(await answers(TIMES.map((each) => desk.submit(`r-${each}`, policy)))).toEqual(expected.idle[policy]);
    const busy = await openRunDesk(storage());
    await running(busy);
    expect(await answers(TIMES.map((each) => busy.submit(`r-${each}`, policy)))).toEqual(expected.busy[policy]);
    expect((await busy.runRows()).length).toBe(1);
  });

  test.each(POLICIES)(
    "the same request with %s twenty times at once is one request with one answer",
    async (policy) => {
      const desk = await openRunDesk(storage());
      expect(await answers(TIMES.map(() => desk.submit("same", policy)))).toEqual({ dispatched: 20 });
      const busy = await openRunDesk(storage());
      await running(busy);
      const status = policy === "reject" ? "rejected" : "queued";
      expect(await answers(TIMES.map(() => busy.submit("same", policy)))).toEqual({ [status]: 20 });
      expect(await busy.requests()).toHaveLength(2);
    },
  );

  test("the same request at once beyond the queue's limit is taken once, and never refused as one too many", async () => {
    const desk = await openRunDesk(storage(), { maxQueued: 1 });
    await running(desk);
    expect(await answers(TIMES.map(() => desk.submit("same", "enqueue")))).toEqual({ queued: 20 });
  });

  test("the same request at once on two threads is one on one of them", async () => {
    const one = await openRunDesk(storage());
    const two = await openRunDesk(storage(), { actor: one.actor });
    expect(await answers(TIMES.map((each) => (each % 2 === 0 ? one : two).submit("same", "enqueue")))).toEqual({
      dispatched: 10,
      request_id_conflict: 10,
    });
  });

  test("five resumes at once: one goes on; the same resume five times is the same", async () => {
    const desk = await openRunDesk(storage());
    const parent = await interrupted(desk);
    expect(await answers([1, 2, 3, 4, 5].map((each) => desk.resume(`resume-${each}`, parent)))).toEqual({
      dispatched: 1,
      resume_superseded: 4,
    });
    const same = await openRunDesk(storage());
    const other = await interrupted(same);
    expect(await answers(TIMES.map(() => same.resume("resume", other)))).toEqual({ dispatched: 20 });
  });

  test("five continues at once dispatch one", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    await desk.submit("second", "enqueue");
    await desk.submit("third", "enqueue");
    await desk.finish(owner, outcomeOf("failed"));
    expect(await answers([1, 2, 3, 4, 5].map(() => desk.runs.continueThread(desk.actor, desk.threadId)))).toEqual({
      dispatched: 1,
      run_active: 4,
    });
    expect((await desk.requests()).map(({ status }) => status)).toEqual(["dispatched", "dispatched", "queued"]);
  });

  test("what cannot be dispatched any more fails, and a continue that finds no other is refused", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    await desk.submit("second", "enqueue");
    await desk.finish(owner, outcomeOf("failed"));
    await storage().db.updateTable("agent").set({ is_enabled: false }).where("slug", "=", "cli-b-plan").execute();
    try {
      expect(await answers([desk.runs.continueThread(desk.actor, desk.threadId)])).toEqual({ queue_empty: 1 });
    } finally {
      await storage().db.updateTable("agent").set({ is_enabled: true }).execute();
    }
    expect(await desk.view()).toBe("idle");
    expect((await desk.requests()).map(({ status }) => status)).toEqual(["dispatched", "failed"]);
  });

  test("a cancel against a finish ends a run once, and a steer against an end is dispatched or refused, never lost", async () => {
    for (let round = 0; round < 10; round += 1) {
      const desk = await openRunDesk(storage());
      const owner = await running(desk);
      const [, , steered] = await Promise.all([
        desk.runs.cancel(desk.actor, owner.runId),
        desk.finish(owner, outcomeOf("completed")),
        answers([desk.submit("steer", "steer")]),
      ]);
      const [run] = await desk.runRows();
      expect(run).toMatchObject({ status: "completed" });
      expect((await desk.events(owner.runId)).filter(({ event }) => event === "end")).toHaveLength(1);
      const [answer] = Object.keys(steered);
      expect(["dispatched", "queued", "run_not_steerable"]).toContain(answer);
      const steer = (await desk.requests()).find(({ request_id }) => request_id === "steer");
      expect(steer?.status).toBe(answer === "run_not_steerable" ? undefined : "dispatched");
    }
  });

  test("a steer that turnd may have cannot be cancelled at once: its turn is there", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    const { request } = await desk.submit("steer", "steer");
    expect(await desk.promise(owner, request.pk)).toBe(true);
    await desk.finish(owner, outcomeOf("completed"));
    const cancelled = await desk.runs.cancel(desk.actor, request.planned_run_id);
    expect(cancelled.status).toBe("cancel_requested");
    const row = (await desk.runRows()).find(({ id }) => id === request.planned_run_id);
    expect(row?.turn_request_id).toBe(request.planned_run_id);
  });

  test("a steer is assigned by the target's owner alone, and not once the target is cancelled", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    const { request } = await desk.submit("steer", "steer");
    await desk.claim(owner.runId);
    expect(await desk.promise(owner, request.pk)).toBe(false);
    const next = await desk.claim(owner.runId);
    await desk.runs.cancel(desk.actor, owner.runId);
    expect(next === undefined || (await desk.promise(next, request.pk))).toBe(false);
  });

  test("a plan's end with a steer on its way is answered by the steer, which runs", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    const { request } = await desk.submit("steer", "steer");
    await desk.promise(owner, request.pk);
    await desk.finish(owner, outcomeOf("interrupted"));
    expect((await desk.runRows())[0]).toMatchObject({ status: "interrupted", released_by: request.planned_run_id });
    expect(await answers([desk.resume("late", owner.runId)])).toEqual({ resume_superseded: 1 });
    expect(await desk.view()).toBe("running");
  });

  test.each([
    ["a deletion", { deleted_at: new Date(), is_enabled: false }],
    ["a disabling", { is_enabled: false }],
  ])("%s of a user ends what runs, what waits, and what is submitted meanwhile", async (_what, change) => {
    for (let round = 0; round < 5; round += 1) {
      const desk = await openRunDesk(storage());
      const { caller } = desk.actor;
      const owner = await running(desk);
      const { request } = await desk.submit("steer", "steer");
      await desk.promise(owner, request.pk);
      const others = [
        await openRunDesk(storage(), { actor: desk.actor }),
        await openRunDesk(storage(), { actor: desk.actor }),
      ];
      const submissions = others.flatMap((other, place) =>
        [0, 1, 2].map((each) => answers([other.submit(`m-${place}-${each}`, "enqueue")])),
      );
      const deleted = storage().transaction(async (trx) => {
        await trx.selectFrom("account").select("id").where("id", "=", caller.userId).forUpdate().execute();
        await trx.updateTable("account").set(change).where("id", "=", caller.userId).execute();
        await cancelAllOf(desk.finishing, trx, caller.userId);
      });
      await Promise.all([deleted, ...submissions]);
      for (const each of [desk, ...others]) {
        const open = (await each.runRows()).filter(({ ended_at }) => ended_at === null);
        expect(open.map(({ status }) => status)).toEqual(each === desk ? ["cancel_requested"] : []);
        const waiting = (await each.requests()).filter(({ status }) => status === "queued");
        expect(waiting.map(({ request_id }) => request_id)).toEqual(each === desk ? ["steer"] : []);
      }
      await desk.finish(owner, outcomeOf("cancelled"));
      expect((await desk.runRows()).at(-1)).toMatchObject({ id: request.planned_run_id, status: "cancel_requested" });
    }
  });

  test("what waits for a user who is disabled has no run, whoever ends the one before it", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    await desk.submit("next", "enqueue");
    await desk.submit("steer", "steer");
    const { userId } = desk.actor.caller;
    // Without what else a disabling does, as before an upgrade.
    await storage().db.updateTable("account").set({ is_enabled: false }).where("id", "=", userId).execute();
    await desk.finish(owner, outcomeOf("completed"));
    expect((await desk.runRows()).map(({ status }) => status)).toEqual(["completed"]);
    const code = expect.objectContaining({ code: "unauthorized" });
    expect((await desk.requests()).map(({ request_id, status, error }) => [request_id, status, error])).toEqual([
      ["first", "dispatched", null],
      ["next", "failed", code],
      ["steer", "failed", code],
    ]);
  });

  test("a run that was open for months can be claimed again and ended", async () => {
    const desk = await openRunDesk(storage());
    const owner = await running(desk);
    const long = new Date(Date.now() - 90 * 86_400_000);
    await storage().db.updateTable("run").set({ created_at: long }).where("id", "=", owner.runId).execute();
    await storage().db.updateTable("run_attempt").set({ started_at: long }).where("run_id", "=", owner.runId).execute();
    const next = await desk.claim(owner.runId);
    if (next === undefined) throw new Error("the run was not claimed");
    await desk.finish(next, outcomeOf("completed"));
    expect((await desk.events(owner.runId)).at(-1)?.payload["duration_ms"]).toBeGreaterThan(89 * 86_400_000);
  });

  test("a key made twenty times at once is one key with one secret", async () => {
    const { actor } = await openRunDesk(storage());
    const { keys } = testAuth(storage());
    const intent = {
      userId: actor.caller.userId,
      requestId: "create-key-0001",
      name: "x",
      expiresAt: null,
      source: "api" as const,
    };
    const made = await Promise.all(TIMES.map(() => keys.create(actor, intent)));
    expect(new Set(made.map(({ secret }) => secret)).size).toBe(1);
    expect(new Set(made.map(({ api_key }) => api_key.id)).size).toBe(1);
    expect((await keys.list(actor.caller, { skip: 0, limit: 10 })).total).toBe(1);
  });
});
