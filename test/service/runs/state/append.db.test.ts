import { describe, expect, test } from "vitest";
import { append } from "../../../../src/service/runs/state/append.ts";
import { OwnershipLost } from "../../../../src/service/runs/state/failures.ts";
import type { Ownership } from "../../../../src/service/runs/state/rows.ts";
import { openRunDesk, outcomeOf } from "../../harness/run-desk.ts";
import { ENGINES, shareStorage } from "../../harness/storage.ts";

const warning = (code: string) => ({ event: "custom", payload: { name: "svc.warning", code, message: code } }) as const;

describe.each(ENGINES)("%s", (kind) => {
  const storage = shareStorage(kind);

  async function begin() {
    const desk = await openRunDesk(storage());
    const { run } = await desk.submit("first", "enqueue");
    const owner = await desk.claim(run?.id ?? "");
    if (owner === undefined) throw new Error("the run was not claimed");
    const before = (await desk.events(owner.runId)).length;
    return {
      desk,
      owner,
      write: (codes: readonly string[], turnCursor: number | undefined, by: Ownership = owner) =>
        append(storage(), by, codes.map(warning), { turnCursor, isNoticed: true }),
      /** What was written since, and whether it is numbered without a gap. */
      async written() {
        const events = await desk.events(owner.runId);
        expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
        return events.slice(before).map(({ payload }) => ("code" in payload ? payload.code : undefined));
      },
    };
  }

  test("a batch that is repeated after its commit, as when the connection broke in it, is written once", async () => {
    const { write, written } = await begin();
    await write(["a", "b"], 2);
    await write(["a", "b"], 2);
    await Promise.all([write(["c"], 3), write(["c"], 3)]);
    expect(await written()).toEqual(["a", "b", "c"]);
  });

  test("without a cursor each append is one of its own", async () => {
    const { write, written } = await begin();
    await write(["a"], undefined);
    await write(["a"], undefined);
    expect(await written()).toEqual(["a", "a"]);
  });

  test("an earlier attempt, and an attempt of a run that has ended, writes nothing and is refused", async () => {
    const { desk, owner, write, written } = await begin();
    await expect(write(["a"], 1, { ...owner, attempt: owner.attempt + 1 })).rejects.toThrow(OwnershipLost);
    await write(["a"], 1);
    await desk.finish(owner, outcomeOf("completed"));
    await expect(write(["b"], 2)).rejects.toThrow(OwnershipLost);
    await expect(write(["a"], 1)).rejects.toThrow(OwnershipLost);
    expect((await written()).filter((code) => code !== undefined)).toEqual(["a"]);
  });
});
