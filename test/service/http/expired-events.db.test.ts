import { expect, test } from "vitest";
import { deleteExpiredEvents } from "../../../src/service/runs/sweep.ts";
import { outcomeOf } from "../harness/run-desk.ts";
import { openStream, refusalOf } from "../harness/run-stream.ts";

test("events are kept for their time after the end, then they are 410; the result stays", async () => {
  const stream = await openStream("postgres");
  await stream.finish();
  expect(await deleteExpiredEvents(stream.storage)).toBe(0);
  await stream.storage.db
    .updateTable("run")
    .set({ events_expire_at: new Date(0) })
    .execute();
  expect(await deleteExpiredEvents(stream.storage)).toBe(1);
  for (const query of ["", "?after_seq=2", "?after_seq=9", "?format=json"]) {
    expect(await refusalOf(await stream.open(stream.path + query))).toEqual([410, null, "events_expired"]);
  }
  const result = await stream.call("GET", stream.path.replace(/events$/, "result"));
  expect(result.body).toMatchObject({ status: "completed", final: true, output: "done", last_seq: 2 });
});

test("an evaluation that is repeated after its events were deleted gives its result, and no summary", async () => {
  const stream = await openStream("postgres", { syncWaitMs: 20 });
  const { desk } = stream;
  await stream.finish();
  const evaluate = () =>
    stream.call("POST", "/api/agent-invocation/eval/runs", {
      agent_slug: "cli-b-plan",
      thread_id: desk.threadId,
      query: "x",
      include_trajectory_summary: true,
      meta: { request_id: "eval-0001" },
    });
  const late = await evaluate();
  expect(late.status).toBe(504);
  const owner = await desk.claim(late.body.detail.run.run_id);
  if (owner === undefined) throw new Error("the run did not begin");
  await desk.finish(owner, outcomeOf("completed"));
  const { trajectory_summary, ...result } = (await evaluate()).body;
  expect(trajectory_summary).toMatchObject({ event_count: 2, events_truncated: false });
  await stream.storage.db
    .updateTable("run")
    .set({ events_expire_at: new Date(0) })
    .execute();
  await deleteExpiredEvents(stream.storage);
  expect(await evaluate()).toMatchObject({
    status: 200,
    body: { ...result, output: "done", trajectory_summary: null },
  });
});
