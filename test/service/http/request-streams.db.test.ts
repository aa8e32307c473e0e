import { expect, onTestFinished, test } from "vitest";
import { waitFor } from "../../harness/wait-for.ts";
import { outcomeOf } from "../harness/run-desk.ts";
import { framesOf, openStream, reading } from "../harness/run-stream.ts";

test("a waiting request's stream has its state, each change, and closes with its end", async () => {
  const stream = await openStream("postgres");
  const { desk } = stream;
  await desk.submit("ahead", "enqueue");
  await desk.submit("mine", "enqueue");
  const { frames, ended } = reading(await stream.open("/api/agent/requests/mine/events"));
  const waitForEvents = async (event: string, count: number) =>
    waitFor(event, () => frames.filter((frame) => frame.event === event).length >= count);
  let notices = 0;
  onTestFinished(
    await stream.storage.listen("svc_requests", { onNotice: () => (notices += 1), onGap: () => undefined }),
  );
  await waitForEvents("queued", 1);
  expect((await stream.call("POST", "/api/agent/requests/ahead/cancel")).status).toBe(200);
  await waitForEvents("queued", 2);
  const before = notices;
  await desk.finish(stream.owner, outcomeOf("failed"));
  // Before the stream's own look every few seconds.
  await waitFor("the notice of the pause", () => notices > before);
  await waitForEvents("paused", 1);
  const { body } = await stream.call("POST", `/api/agent/thread/${desk.threadId}/requests/continue`);
  await ended;
  const ids = { schema_version: 1, thread_id: desk.threadId, request_id: "mine" };
  const url = `/api/agent/thread/${desk.threadId}/requests/continue`;
  expect(frames.map(({ id, event, data }) => [id, event, data])).toEqual([
    [
      "1",
      "queued",
      { ...ids, run_id: null, event: "queued", payload: { request_id: "mine", status: "queued", position: 2 } },
    ],
    [
      "1",
      "queued",
      { ...ids, run_id: null, event: "queued", payload: { request_id: "mine", status: "queued", position: 1 } },
    ],
    [
      "1",
      "paused",
      { ...ids, run_id: null, event: "paused", payload: { request_id: "mine", position: 1, continue_url: url } },
    ],
    [
      "2",
      "run_created",
      {
        ...ids,
        run_id: body.run_id,
        event: "run_created",
        payload: { request_id: "mine", run_id: body.run_id, stream_url: `/api/agent/runs/${body.run_id}/events` },
      },
    ],
  ]);
  const rejected = await desk.submit("late", "reject");
  expect(rejected.run).toBeUndefined();
  const ends = [];
  for (const request of ["ahead", "late", "mine"]) {
    const [frame, ...more] = await framesOf(await stream.open(`/api/agent/requests/${request}/events`));
    ends.push([frame?.event, frame?.data.payload.error?.code, more.length]);
  }
  expect(ends).toEqual([
    ["cancelled", undefined, 0],
    ["rejected", "thread_busy", 0],
    ["run_created", undefined, 0],
  ]);
});
