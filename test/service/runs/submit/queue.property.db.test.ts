import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openRunDesk, outcomeOf } from "../../harness/run-desk.ts";
import { ENGINES, shareStorage } from "../../harness/storage.ts";
import { QueueModel } from "./queue-model.ts";
import { act, action, answerOf, codeOf, Player, POLICIES, type Action } from "./queue-player.ts";

describe.each(ENGINES)("%s", (kind) => {
  const storage = shareStorage(kind);

  test("a thread's queue is that of the design's tables, whatever happens in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 8, maxLength: 25, size: "max" }), async (actions) => {
        const player = new Player(await openRunDesk(storage()));
        const model = new QueueModel();
        for (const chosen of actions) {
          await step(player, model, chosen);
          await compare(player, model);
        }
        await check(player);
      }),
      {
        numRuns: Number(process.env["SVC_TEST_RUNS"] ?? (kind === "pglite" ? 4 : 12)),
        interruptAfterTimeLimit: 60_000,
        markInterruptAsFailure: false,
      },
    );
  });

  test("what happens at the same moment leaves one run at a time, gap-free events and outcomes that stay", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(action, { minLength: 2, maxLength: 6 }), { minLength: 3, maxLength: 8 }),
        async (rounds) => {
          const player = new Player(await openRunDesk(storage()));
          for (const round of rounds) {
            await Promise.all(round.map((chosen) => act(player, chosen)));
            await check(player);
          }
        },
      ),
      {
        numRuns: Number(process.env["SVC_TEST_RUNS"] ?? (kind === "pglite" ? 4 : 10)),
        interruptAfterTimeLimit: 60_000,
        markInterruptAsFailure: false,
      },
    );
  });
});

/** What holds after every action, in whatever order they came. */
async function check({ desk, ended }: Player): Promise<void> {
  const [requests, runs] = [await desk.requests(), await desk.runRows()];
  const blocking = runs.filter(
    (run) => run.ended_at === null || (run.status === "interrupted" && run.released_at === null),
  );
  expect(blocking.length).toBeLessThanOrEqual(1);
  expect(runs.map(({ id }) => id).toSorted()).toEqual(
    requests
      .filter(({ status }) => status === "dispatched")
      .map((request) => request.planned_run_id)
      .toSorted(),
  );
  for (const run of runs) {
    const events = await desk.events(run.id);
    expect(events.map(({ seq }) => seq)).toEqual(Array.from({ length: run.last_seq }, (_, index) => index + 1));
    expect(events[0]?.event).toBe("metadata");
    expect(events.filter(({ event }) => event === "end")).toHaveLength(run.ended_at === null ? 0 : 1);
    if (run.ended_at === null) continue;
    expect(events.at(-1)).toMatchObject({ event: "end", payload: { status: run.status, events: run.last_seq } });
    const kind = run.status === "failed" ? "error" : run.status === "interrupted" ? "interrupt" : undefined;
    for (const name of ["error", "interrupt"]) {
      const found = events.filter(({ event }) => event === name).map(({ seq }) => seq);
      expect(found).toEqual(name === kind ? [run.last_seq - 1] : []);
    }
    // Released is all that may still be written to it.
    const { released_at: _at, released_by: _by, cancelled_by: _who, ...outcome } = run;
    const known = ended.get(run.id);
    if (known === undefined) ended.set(run.id, JSON.stringify(outcome));
    else expect(JSON.stringify(outcome)).toBe(known);
  }
}

/** One action against the service and the model; the answers must be the same. */
async function step(player: Player, model: QueueModel, chosen: Action): Promise<void> {
  const { desk } = player;
  const pick = "pick" in chosen ? chosen.pick : 0;
  const any = model.requests.length === 0 ? undefined : model.requests[pick % model.requests.length];
  const blocking = await player.blocking();
  const owner = blocking === undefined ? undefined : player.owners.get(blocking.id);
  const idOf = (runId: string): string => [...player.runIds].find(([, id]) => id === runId)?.[0] ?? "none";
  switch (chosen.do) {
    case "submit": {
      const id = player.newId();
      const policy = "policy" in chosen ? chosen.policy : "enqueue";
      const taken = await answerOf(desk.submit(id, policy), ({ request }) => player.note(id, request));
      expect(taken).toBe(model.submit(id, policy));
      return;
    }
    case "repeat": {
      if (any === undefined || any.kind === "resume") return;
      const known = (await desk.requests()).find(({ request_id }) => request_id === any.id);
      // Its policy as it was given: a promoted one was enqueued.
      const policy = POLICIES.find((each) => each === known?.queue_policy) ?? "enqueue";
      const answer = await codeOf(desk.submit(any.id, policy));
      expect(["done", "request_id_conflict"]).toContain(answer);
      return;
    }
    case "claim": {
      if (blocking === undefined || blocking.ended_at !== null) return;
      await player.claim(blocking.id);
      const run = model.get(idOf(blocking.id))?.run;
      if (run?.status === "pending") run.status = "running";
      return;
    }
    case "handOver":
      if (owner !== undefined) await desk.handOver(owner);
      return;
    case "write":
      if (owner !== undefined)
        expect(await codeOf(desk.write(owner))).toBe(blocking?.ended_at === null ? "done" : "lost");
      return;
    case "finish": {
      if (owner === undefined || blocking === undefined) return;
      const ending = "ending" in chosen ? chosen.ending : "completed";
      const isOpen = blocking.ended_at === null;
      expect(await codeOf(desk.finish(owner, outcomeOf(ending)))).toBe(isOpen ? "done" : "lost");
      if (isOpen) model.end(idOf(blocking.id), ending);
      return;
    }
    case "promise": {
      const steer = (await desk.requests()).find(
        ({ status, queue_policy }) => status === "queued" && queue_policy === "steer",
      );
      if (steer === undefined) return;
      const target = model.get(idOf(steer.steer_target ?? ""));
      const by = player.owners.get(steer.steer_target ?? "");
      if (by === undefined) return;
      const wanted = model.get(steer.request_id);
      const isRight = target?.run?.status === "running" && wanted?.isAssigned === false;
      expect(await desk.promise(by, steer.pk)).toBe(isRight);
      if (isRight && wanted !== undefined) wanted.isAssigned = true;
      return;
    }
    case "stale": {
      const [old] = player.stale.slice(pick % Math.max(1, player.stale.length));
      if (old === undefined) return;
      expect(await codeOf(desk.write(old))).toBe("lost");
      expect(await codeOf(desk.finish(old, outcomeOf("failed")))).toBe("lost");
      for (const { pk } of await desk.requests()) expect(await desk.promise(old, pk)).toBe(false);
      return;
    }
    case "continue": {
      const answer = await answerOf(desk.runs.continueThread(desk.actor, desk.threadId), ({ status }) => status);
      expect(answer).toBe(model.continueThread());
      return;
    }
    case "resume": {
      const runId = any === undefined ? undefined : player.runIds.get(any.id);
      if (any?.run === undefined || runId === undefined) return;
      const id = player.newId();
      const answer = await answerOf(desk.resume(id, runId), ({ request }) => player.note(id, request));
      expect(answer).toBe(model.resume(id, any));
      return;
    }
    case "cancelRun": {
      const runId = any === undefined ? undefined : player.runIds.get(any.id);
      if (any?.run === undefined || runId === undefined) return;
      await desk.runs.cancel(desk.actor, runId);
      model.cancelRun(any);
      return;
    }
    case "cancelRequest":
    case "promote": {
      if (any === undefined) return;
      const work =
        chosen.do === "promote"
          ? desk.runs.steerRequest(desk.actor, any.id)
          : desk.runs.cancelRequest(desk.actor, any.id);
      const answer = await answerOf<{ status: string }>(work, ({ status }) => status);
      expect(answer).toBe(chosen.do === "promote" ? model.promote(any) : model.cancelRequest(any));
      return;
    }
  }
}

async function compare(player: Player, model: QueueModel): Promise<void> {
  const [requests, runs] = [await player.desk.requests(), await player.desk.runRows()];
  expect(requests.map(({ request_id, status }) => [request_id, status])).toEqual(
    model.requests.map(({ id, status }) => [id, status]),
  );
  const statuses = new Map(runs.map((run) => [run.id, run.status]));
  for (const { id, run } of model.requests)
    expect([id, statuses.get(player.runIds.get(id) ?? "")]).toEqual([id, run?.status]);
  expect(await player.desk.view()).toBe(model.view());
  const { requests: waiting } = await player.desk.runs.queue(player.desk.actor.caller, player.desk.threadId);
  expect(waiting.map((each) => [each.request_id, each.queue_position])).toEqual(
    model.waiting().map(({ id }, index) => [id, index + 1]),
  );
}
