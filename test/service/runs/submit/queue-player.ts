import fc from "fast-check";
import { expect } from "vitest";
import { ApiProblem } from "../../../../src/service/protocol/problems.ts";
import { OwnershipLost } from "../../../../src/service/runs/state/failures.ts";
import type { Ownership } from "../../../../src/service/runs/state/rows.ts";
import type { RequestRow, RunRow } from "../../../../src/service/runs/state/rows.ts";
import { outcomeOf, type RunDesk } from "../../harness/run-desk.ts";

/** How a request joins a queue. */
export const POLICIES = ["enqueue", "reject", "steer"] as const;
const ENDINGS = ["completed", "failed", "cancelled", "interrupted"] as const;

/** What may happen to a thread. */
export const action = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("submit"), policy: fc.constantFrom(...POLICIES) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("finish"), ending: fc.constantFrom(...ENDINGS) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("claim") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("handOver") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("write") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("promise") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("continue") }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom("resume", "cancelRun", "repeat", "stale"), pick: fc.nat() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("cancelRequest", "promote", "cancelRun"), pick: fc.nat() }) },
);
export type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

/** Plays actions against the service. */
export class Player {
  readonly desk: RunDesk;
  /** Who owned each run last, and who did before. */
  readonly owners = new Map<string, Ownership>();
  readonly stale: Ownership[] = [];
  /** The answer to each request when it was taken. */
  readonly runIds = new Map<string, string>();
  private next = 0;
  /** Each ended run as it was first seen. */
  readonly ended = new Map<string, string>();

  constructor(desk: RunDesk) {
    this.desk = desk;
  }

  newId(): string {
    this.next += 1;
    return `request-${this.next}`;
  }

  /** Keeps which run a request has or will have. */
  note(id: string, request: RequestRow): string {
    this.runIds.set(id, request.planned_run_id);
    return request.status;
  }

  async blocking(): Promise<RunRow | undefined> {
    return (await this.desk.runRows()).find(
      (run) => run.ended_at === null || (run.status === "interrupted" && run.released_at === null),
    );
  }

  async claim(runId: string): Promise<void> {
    const owner = await this.desk.claim(runId);
    if (owner === undefined) return;
    const before = this.owners.get(runId);
    if (before !== undefined) this.stale.push(before);
    this.owners.set(runId, owner);
  }
}

/** `done`, or the code that a call was refused with. */
export const codeOf = (work: Promise<unknown>): Promise<string> => answerOf(work, () => "done");

/** What a call answered, or the code it was refused with. */
export async function answerOf<T>(work: Promise<T>, read: (done: T) => string): Promise<string> {
  try {
    return read(await work);
  } catch (error) {
    if (error instanceof ApiProblem) return error.code;
    if (error instanceof OwnershipLost) return "lost";
    throw error;
  }
}

/** One action without a model: it is done, or refused by name. */
export async function act(player: Player, chosen: Action): Promise<void> {
  const { desk } = player;
  const pick = "pick" in chosen ? chosen.pick : 0;
  const runs = await desk.runRows();
  const open = runs.find(({ ended_at }) => ended_at === null);
  const run = runs.length === 0 ? undefined : runs[pick % runs.length];
  const owner = open === undefined ? undefined : player.owners.get(open.id);
  const requests = await desk.requests();
  const request = requests.length === 0 ? undefined : requests[pick % requests.length];
  switch (chosen.do) {
    case "submit":
    case "repeat": {
      const policy = "policy" in chosen ? chosen.policy : "enqueue";
      await codeOf(desk.submit(player.newId(), policy));
      return;
    }
    case "claim":
      if (open !== undefined) await player.claim(open.id);
      return;
    case "handOver":
      if (owner !== undefined) await desk.handOver(owner);
      return;
    case "write":
      if (owner !== undefined) await codeOf(desk.write(owner));
      return;
    case "finish":
      if (owner !== undefined)
        await codeOf(desk.finish(owner, outcomeOf("ending" in chosen ? chosen.ending : "failed")));
      return;
    case "promise":
      if (owner !== undefined && request !== undefined) await desk.promise(owner, request.pk);
      return;
    case "stale": {
      const [old] = player.stale;
      if (old !== undefined) expect(await codeOf(desk.finish(old, outcomeOf("failed")))).toBe("lost");
      return;
    }
    case "continue":
      await codeOf(desk.runs.continueThread(desk.actor, desk.threadId));
      return;
    case "resume":
      if (run !== undefined) await codeOf(desk.resume(player.newId(), run.id));
      return;
    case "cancelRun":
      if (run !== undefined) await codeOf(desk.runs.cancel(desk.actor, run.id));
      return;
    case "cancelRequest":
      if (request !== undefined) await codeOf(desk.runs.cancelRequest(desk.actor, request.request_id));
      return;
    case "promote":
      if (request !== undefined) await codeOf(desk.runs.steerRequest(desk.actor, request.request_id));
      return;
  }
}
