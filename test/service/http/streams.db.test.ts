import { sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { append } from "../../../src/service/runs/attempt/append.ts";
import { deleteExpiredEvents } from "../../../src/service/runs/sweep.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { call, testApp, type AppOverrides } from "../harness/app.ts";
import { makeUser, testAuth } from "../harness/auth.ts";
import { openRunDesk, outcomeOf } from "../harness/run-desk.ts";
import { readAll, type SentEvent } from "../harness/service.ts";
import { ENGINES, freshStorage, type EngineKind } from "../harness/storage.ts";

/** An app that listens, a user with a key, and a running run whose attempt the test plays. */
async function openStand(kind: EngineKind, overrides: AppOverrides = {}) {
  const storage = await freshStorage(kind);
  const auth = testAuth(storage);
  const actor = await makeUser(storage);
  const desk = await openRunDesk(storage, { actor });
  const { caller } = actor;
  const intent = { userId: caller.userId, requestId: "key-0001", name: "k", expiresAt: null, source: "api" } as const;
  const { secret, api_key: key } = await auth.keys.create(actor, intent);
  const app = await testApp(storage, { auth, ...overrides });
  onTestFinished(() => app.close());
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const { run } = await desk.submit("r1", "enqueue");
  const owner = await desk.claim(run?.id ?? "");
  if (run === undefined || owner === undefined) throw new Error("the run did not begin");
  const headers = { authorization: `Bearer ${secret}`, accept: "text/event-stream" };
  const stream = `/api/agent/runs/${run.id}/events`;
  return {
    app,
    storage,
    desk,
    owner,
    stream,
    open: (path = stream, more: Record<string, string> = {}) => fetch(url + path, { headers: { ...headers, ...more } }),
    call: (method: "GET" | "POST", path: string, body?: object) => call(app, method, path, body, { token: secret }),
    write: () => desk.write(owner),
    finish: () => desk.finish(owner, outcomeOf("completed")),
    revoke: () => auth.keys.revoke(actor, key.id),
    wake: () => sql`select pg_notify('svc_events', ${run.id})`.execute(storage.db),
  };
}

async function refusalOf(response: Response): Promise<unknown> {
  return [response.status, response.headers.get("retry-after"), JSON.parse(await response.text()).detail.code];
}

/** The frames of a stream, as they come; `ended` when it ended or was cut off. */
function reading(response: Response): { readonly frames: readonly SentEvent[]; readonly ended: Promise<void> } {
  expect(response.status).toBe(200);
  const frames: SentEvent[] = [];
  const read = async (): Promise<void> => {
    try {
      await readAll(response.body ?? [], (frame) => frames.push(frame));
    } catch (error) {
      expect(error).toMatchObject({ cause: { code: "UND_ERR_SOCKET" } });
    }
  };
  return { frames, ended: read() };
}

async function framesOf(response: Response): Promise<readonly SentEvent[]> {
  const { frames, ended } = reading(response);
  await ended;
  return frames;
}

/** A stream that has told the run's beginning. */
async function begun(response: Response): Promise<ReturnType<typeof reading>> {
  const read = reading(response);
  await waitFor("the first event", () => read.frames.length > 0);
  return read;
}

const idsOf = (frames: readonly SentEvent[]): number[] => frames.map(({ id }) => Number(id));

describe.each(ENGINES)("%s", (kind) => {
  test("a frame is the event's number, its type and one line; a heartbeat says that there is nothing", async () => {
    const stand = await openStand(kind, { heartbeatMs: 30 });
    const response = await stand.open();
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": expect.stringContaining("no-cache"),
      "x-accel-buffering": "no",
    });
    const decoder = new TextDecoder();
    let text = "";
    let isFinished = false;
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (isFinished || !text.includes(": heartbeat\n\n")) continue;
      isFinished = true;
      await stand.finish();
    }
    const [retry, first, ...rest] = text.split("\n\n").filter((part) => part !== "" && part !== ": heartbeat");
    expect(retry).toBe("retry: 1000");
    expect(first?.split("\n").map((line) => line.slice(0, 16))).toEqual([
      "id: 1",
      "event: metadata",
      'data: {"schema_v',
    ]);
    expect(rest).toHaveLength(1);
    expect(rest[0]).toMatch(/^id: 2\nevent: end\ndata: \{.*\}$/);
  });

  test("the cursor is the header's before the query's; an empty one is none", async () => {
    const stand = await openStand(kind);
    await stand.write();
    await stand.finish();
    const path = `${stand.stream}?after_seq=1`;
    expect(idsOf(await framesOf(await stand.open(path, { "last-event-id": "2" })))).toEqual([3]);
    expect(idsOf(await framesOf(await stand.open(path, { "last-event-id": "" })))).toEqual([2, 3]);
    expect(idsOf(await framesOf(await stand.open(`${stand.stream}?after_seq=`)))).toEqual([1, 2, 3]);
    expect((await stand.open(path, { "last-event-id": "3" })).status).toBe(204);
    expect(await refusalOf(await stand.open(path, { "last-event-id": "1.5" }))).toEqual([422, null, "bad_cursor"]);
    const beyond = await stand.call("GET", `${stand.stream}?after_seq=4`);
    expect([beyond.status, beyond.body.detail]).toMatchObject([416, { code: "cursor_beyond_end", last_seq: 3 }]);
    const page = await stand.call("GET", `${stand.stream}?format=json&after_seq=3`);
    expect(page.body).toEqual({ events: [], last_seq: 3, has_more: false, ended: true });
  });

  test("one stream too many is refused, and its place is free again when another has ended", async () => {
    const stand = await openStand(kind, { maxStreams: 1 });
    const first = reading(await stand.open());
    expect(await refusalOf(await stand.open())).toEqual([429, "5", "too_many_streams"]);
    expect(await refusalOf(await stand.open("/api/agent/requests/r1/events"))).toEqual([429, "5", "too_many_streams"]);
    await stand.finish();
    await first.ended;
    expect(first.frames.at(-1)?.event).toBe("end");
    const again = await waitFor("a place", async () => {
      const response = await stand.open();
      return response.status === 200 ? response : void (await response.text());
    });
    expect(idsOf(await framesOf(again))).toEqual([1, 2]);
  });

  test("the longest time of a connection closes it without a word; the next goes on from its cursor", async () => {
    const stand = await openStand(kind, { streamMaxMs: 300 });
    const told: SentEvent[] = [];
    const goOn = async (): Promise<void> => {
      told.push(...(await framesOf(await stand.open(stand.stream, { "last-event-id": told.at(-1)?.id ?? "" }))));
    };
    while (told.length === 0) await goOn();
    await goOn();
    expect(told.map(({ event }) => event)).toEqual(["metadata"]);
    await stand.write();
    await stand.finish();
    while (told.length < 3) await goOn();
    expect(told.map(({ id, event }) => [id, event])).toEqual([
      ["1", "metadata"],
      ["2", "custom"],
      ["3", "end"],
    ]);
  });

  test("a stop closes streams without a word", async () => {
    const stand = await openStand(kind);
    const { frames, ended } = await begun(await stand.open());
    await stand.app.close();
    await ended;
    expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
  });

  test("a stream ends soon after its key was revoked", async () => {
    const stand = await openStand(kind, { heartbeatMs: 100 });
    const { frames, ended } = await begun(await stand.open());
    await stand.revoke();
    await ended;
    expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
    expect(await refusalOf(await stand.open())).toEqual([401, null, "unauthorized"]);
  });

  test("events that cannot be read close the stream without a word, and are 503 until they can be", async () => {
    const stand = await openStand(kind);
    const { frames, ended } = await begun(await stand.open());
    await sql`alter table run_event rename to moved_away`.execute(stand.storage.db);
    await stand.wake();
    await ended;
    expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
    expect(await refusalOf(await stand.open())).toEqual([503, "5", "not_ready"]);
    expect(await refusalOf(await stand.open(`${stand.stream}?format=json`))).toEqual([503, "5", "not_ready"]);
    await sql`alter table moved_away rename to run_event`.execute(stand.storage.db);
    await stand.finish();
    expect(idsOf(await framesOf(await stand.open(stand.stream, { "last-event-id": "1" })))).toEqual([2]);
  });

  test("large events are given few at a time, and all of them", async () => {
    const stand = await openStand(kind);
    const text = "x".repeat(50_000);
    const large = Array.from({ length: 30 }, () => ({ event: "custom" as const, payload: { name: "svc.plan", text } }));
    await append(stand.storage, stand.owner, large, { isNoticed: true });
    await stand.finish();
    const ids: number[] = [];
    for (let hasMore = true; hasMore;) {
      const { body } = await stand.call("GET", `${stand.stream}?format=json&limit=500&after_seq=${ids.at(-1) ?? 0}`);
      expect(JSON.stringify(body).length).toBeLessThan(400_000);
      ids.push(...body.events.map(({ seq }: { seq: number }) => seq));
      hasMore = body.has_more;
    }
    expect(ids).toEqual(Array.from({ length: 32 }, (_, index) => index + 1));
    expect(idsOf(await framesOf(await stand.open()))).toEqual(ids);
  });

  test("events live for their time after the end, then they are 410; the result stays", async () => {
    const stand = await openStand(kind);
    await stand.finish();
    expect(await deleteExpiredEvents(stand.storage)).toBe(0);
    await stand.storage.db
      .updateTable("run")
      .set({ events_expire_at: new Date(0) })
      .execute();
    expect(await deleteExpiredEvents(stand.storage)).toBe(1);
    for (const query of ["", "?after_seq=2", "?after_seq=9", "?format=json"]) {
      expect(await refusalOf(await stand.open(stand.stream + query))).toEqual([410, null, "events_expired"]);
    }
    const result = await stand.call("GET", stand.stream.replace(/events$/, "result"));
    expect(result.body).toMatchObject({ status: "completed", final: true, output: "done", last_seq: 2 });
  });

  test("an evaluation that is repeated after its events were deleted gives its result, and no summary", async () => {
    const stand = await openStand(kind, { syncWaitMs: 20 });
    const { desk } = stand;
    await stand.finish();
    const evaluate = () =>
      stand.call("POST", "/api/agent-invocation/eval/runs", {
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
    await stand.storage.db
      .updateTable("run")
      .set({ events_expire_at: new Date(0) })
      .execute();
    await deleteExpiredEvents(stand.storage);
    expect(await evaluate()).toMatchObject({
      status: 200,
      body: { ...result, output: "done", trajectory_summary: null },
    });
  });

  test("a waiting request's stream tells what it is, each change, and closes with its end", async () => {
    const stand = await openStand(kind);
    const { desk } = stand;
    await desk.submit("ahead", "enqueue");
    await desk.submit("mine", "enqueue");
    const { frames, ended } = reading(await stand.open("/api/agent/requests/mine/events"));
    const told = async (event: string, count: number) =>
      waitFor(event, () => frames.filter((frame) => frame.event === event).length >= count);
    let notices = 0;
    onTestFinished(
      await stand.storage.listen("svc_requests", { onNotice: () => (notices += 1), onGap: () => undefined }),
    );
    await told("queued", 1);
    expect((await stand.call("POST", "/api/agent/requests/ahead/cancel")).status).toBe(200);
    await told("queued", 2);
    const before = notices;
    await desk.finish(stand.owner, outcomeOf("failed"));
    // Nobody waits for the stream's own look every few seconds.
    await waitFor("the notice of the pause", () => notices > before);
    await told("paused", 1);
    const { body } = await stand.call("POST", `/api/agent/thread/${desk.threadId}/requests/continue`);
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
      const [frame, ...more] = await framesOf(await stand.open(`/api/agent/requests/${request}/events`));
      ends.push([frame?.event, frame?.data.payload.error?.code, more.length]);
    }
    expect(ends).toEqual([
      ["cancelled", undefined, 0],
      ["rejected", "thread_busy", 0],
      ["run_created", undefined, 0],
    ]);
  });
});
