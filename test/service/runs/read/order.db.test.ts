import { expect, test } from "vitest";
import { openRunDesk, outcomeOf, type RunDesk } from "../../harness/run-desk.ts";
import { shareStorage } from "../../harness/storage.ts";

/** Plays the thread's run to its end. @returns its id */
async function play(desk: RunDesk, status: "completed" | "interrupted" = "completed"): Promise<string> {
  const run = await desk.runs.activeRun(desk.actor.caller, desk.threadId);
  const owner = await desk.claim(run?.run_id ?? "");
  if (owner === undefined) throw new Error("nothing runs");
  await desk.finish(owner, outcomeOf(status));
  return owner.runId;
}

async function history(desk: RunDesk, page: { before?: string; limit: number }): Promise<string[]> {
  const { messages } = await desk.runs.history(desk.actor.caller, desk.threadId, page);
  return messages.map(({ role, content }) => `${role}: ${content}`);
}

const storage = shareStorage("postgres");

test("the history shows a steer, and a request made one, where it acted and not where it was taken in", async () => {
  const desk = await openRunDesk(storage());
  await desk.submit("first", "enqueue");
  await desk.submit("second", "enqueue");
  await desk.submit("third", "enqueue");
  await desk.submit("fourth", "enqueue");
  const active = await desk.runs.activeRun(desk.actor.caller, desk.threadId);
  const owner = await desk.claim(active?.run_id ?? "");
  if (owner === undefined) throw new Error("nothing runs");
  const { request } = await desk.submit("steer", "steer");
  await desk.promise(owner, request.pk);
  await desk.finish(owner, { status: "completed", reason: "steered", output: "done" });
  const steer = await desk.claim((await desk.runs.activeRun(desk.actor.caller, desk.threadId))?.run_id ?? "");
  if (steer === undefined) throw new Error("the steer does not run");
  await desk.runs.steerRequest(desk.actor, "third");
  await desk.finish(steer, outcomeOf("completed"));
  const third = await play(desk);
  await play(desk);
  await play(desk);
  const order = ["first", "steer", "third", "second", "fourth"];
  const all = order.flatMap((each) => [`user: do ${each}`, "assistant: done"]);
  expect(await history(desk, { limit: 100 })).toEqual(all);
  // Page by page, the newest first.
  expect(await history(desk, { limit: 4 })).toEqual(all.slice(6));
  expect(await history(desk, { limit: 4, before: third })).toEqual(all.slice(0, 4));
  // At most so many, and never a half of what belongs to one run.
  expect(await history(desk, { limit: 3 })).toEqual(all.slice(8));
  expect(await history(desk, { limit: 1 })).toEqual(all.slice(8));
});

test("a page of the history skips runs without a text: it is empty only where there are no messages before", async () => {
  const desk = await openRunDesk(storage());
  const withoutText = async (id: string) => {
    await desk.submit(id, "enqueue", { input: { query: "", images: [] } });
    const run = await desk.runs.activeRun(desk.actor.caller, desk.threadId);
    const owner = await desk.claim(run?.run_id ?? "");
    if (owner === undefined) throw new Error("nothing runs");
    await desk.finish(owner, { status: "completed", reason: "rejected_plan", output: "" });
    return owner.runId;
  };
  const before = await withoutText("withoutText-0");
  await desk.submit("first", "enqueue");
  const first = await play(desk);
  for (let each = 1; each <= 60; each += 1) await withoutText(`withoutText-${each}`);
  await desk.submit("last", "enqueue");
  const last = await play(desk);
  expect(await history(desk, { limit: 2 })).toEqual(["user: do last", "assistant: done"]);
  expect(await history(desk, { limit: 1, before: last })).toEqual(["user: do first", "assistant: done"]);
  expect(await history(desk, { limit: 100 })).toHaveLength(4);
  for (const run of [first, before]) expect(await history(desk, { limit: 2, before: run })).toEqual([]);
});

test("a thread whose rows have a waiting request and nothing that stops it is ready, and continue starts it", async () => {
  const desk = await openRunDesk(storage());
  await desk.submit("first", "enqueue");
  await desk.submit("second", "enqueue");
  const run = await desk.runs.activeRun(desk.actor.caller, desk.threadId);
  const owner = await desk.claim(run?.run_id ?? "");
  if (owner === undefined) throw new Error("nothing runs");
  await desk.finish(owner, outcomeOf("failed"));
  expect(await desk.view()).toBe("paused");
  // No transaction leaves it so: whatever completes dispatches the head. A person who repairs rows may.
  await storage().db.updateTable("run").set({ status: "completed" }).where("id", "=", owner.runId).execute();
  expect((await desk.runs.queue(desk.actor.caller, desk.threadId)).queue).toMatchObject({
    status: "ready",
    can_continue: true,
  });
  expect(await desk.runs.continueThread(desk.actor, desk.threadId)).toMatchObject({ request_id: "second" });
  await expect(desk.runs.continueThread(desk.actor, desk.threadId)).rejects.toMatchObject({ code: "run_active" });
});

test.each([
  { model_spec: "provider:other" },
  { tool_approval_mode: "always_trust" },
  { model_spec: "provider:own", tool_approval_mode: "always_trust" },
] as const)(
  "a resume that asks for %j, which its parent did not have, is refused by name and changes nothing",
  async (more) => {
    const desk = await openRunDesk(storage());
    await desk.submit("plan", "enqueue", { options: { model_spec: "provider:own" } });
    const parent = await play(desk, "interrupted");
    const [field] = Object.keys(more).filter((name) => name !== "model_spec" || more.model_spec !== "provider:own");
    await expect(desk.resume("other", parent, more)).rejects.toMatchObject({
      fields: [{ loc: ["body", field], msg: expect.stringContaining("a resume keeps that of the run it resumes") }],
    });
    expect(await desk.view()).toBe("interrupted");
    expect(await desk.requests()).toHaveLength(1);
    // The same words again are no other wish.
    const same = { model_spec: "provider:own", tool_approval_mode: "default" } as const;
    expect((await desk.resume("same", parent, same)).run).toMatchObject({ status: "pending" });
  },
);

test.each([
  { name: "none of its own", before: null, after: "provider:new", approval: "default", now: "always_trust" },
  { name: "a model of its own", before: "provider:old", after: null, approval: "always_trust", now: "default" },
] as const)(
  "a resume keeps the model and the approval that its parent ran with, $name, whatever the agent's are now",
  async ({ before, after, approval, now }) => {
    const desk = await openRunDesk(storage());
    const agent = (model: string | null, mode: "default" | "always_trust") =>
      storage()
        .db.updateTable("agent")
        .set({ model_spec: model, tool_approval_mode: mode })
        .where("slug", "=", "cli-b-plan")
        .execute();
    await agent(before, approval);
    await desk.submit("plan", "enqueue");
    const parent = await play(desk, "interrupted");
    await agent(after, now);
    const { run } = await desk.resume("go", parent);
    expect(await desk.runs.get(desk.actor.caller, run?.id ?? "")).toMatchObject({
      kind: "resume",
      model_spec: before,
      tool_approval_mode: approval,
    });
  },
);
