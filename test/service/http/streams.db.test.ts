import { sql } from "kysely";
import { expect, test } from "vitest";
import { append } from "../../../src/service/runs/state/append.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { begun, framesOf, idsOf, openStream, reading, refusalOf } from "../harness/run-stream.ts";
import type { SentEvent } from "../harness/service.ts";

test("a frame is the event's number, its type and one line; a heartbeat is sent while there are none", async () => {
  const stream = await openStream("postgres", { heartbeatMs: 30 });
  const response = await stream.open();
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
    await stream.finish();
  }
  const [retry, first, ...rest] = text.split("\n\n").filter((part) => part !== "" && part !== ": heartbeat");
  expect(retry).toBe("retry: 1000");
  expect(first?.split("\n").map((line) => line.slice(0, 16))).toEqual(["id: 1", "event: metadata", 'data: {"schema_v']);
  expect(rest).toHaveLength(1);
  expect(rest[0]).toMatch(/^id: 2\nevent: end\ndata: \{.*\}$/);
});

test("the cursor is the header's before the query's; an empty one is none", async () => {
  const stream = await openStream("postgres");
  await stream.write();
  await stream.finish();
  const path = `${stream.path}?after_seq=1`;
  expect(idsOf(await framesOf(await stream.open(path, { "last-event-id": "2" })))).toEqual([3]);
  expect(idsOf(await framesOf(await stream.open(path, { "last-event-id": "" })))).toEqual([2, 3]);
  expect(idsOf(await framesOf(await stream.open(`${stream.path}?after_seq=`)))).toEqual([1, 2, 3]);
  expect((await stream.open(path, { "last-event-id": "3" })).status).toBe(204);
  expect(await refusalOf(await stream.open(path, { "last-event-id": "1.5" }))).toEqual([422, null, "bad_cursor"]);
  const beyond = await stream.call("GET", `${stream.path}?after_seq=4`);
  expect([beyond.status, beyond.body.detail]).toMatchObject([416, { code: "cursor_beyond_end", last_seq: 3 }]);
  const page = await stream.call("GET", `${stream.path}?format=json&after_seq=3`);
  expect(page.body).toEqual({ events: [], last_seq: 3, has_more: false, ended: true });
});

test("one stream too many is refused, and its place is free again when another has ended", async () => {
  const stream = await openStream("postgres", { maxStreams: 1 });
  const first = reading(await stream.open());
  expect(await refusalOf(await stream.open())).toEqual([429, "5", "too_many_streams"]);
  expect(await refusalOf(await stream.open("/api/agent/requests/r1/events"))).toEqual([429, "5", "too_many_streams"]);
  await stream.finish();
  await first.ended;
  expect(first.frames.at(-1)?.event).toBe("end");
  const again = await waitFor("a place", async () => {
    const response = await stream.open();
    return response.status === 200 ? response : void (await response.text());
  });
  expect(idsOf(await framesOf(again))).toEqual([1, 2]);
});

test("the longest time of a connection closes it without an event; the next goes on from its cursor", async () => {
  const stream = await openStream("postgres", { streamMaxMs: 300 });
  const sent: SentEvent[] = [];
  const goOn = async (): Promise<void> => {
    sent.push(...(await framesOf(await stream.open(stream.path, { "last-event-id": sent.at(-1)?.id ?? "" }))));
  };
  while (sent.length === 0) await goOn();
  await goOn();
  expect(sent.map(({ event }) => event)).toEqual(["metadata"]);
  await stream.write();
  await stream.finish();
  while (sent.length < 3) await goOn();
  expect(sent.map(({ id, event }) => [id, event])).toEqual([
    ["1", "metadata"],
    ["2", "custom"],
    ["3", "end"],
  ]);
});

test("a stop closes streams without an event", async () => {
  const stream = await openStream("postgres");
  const { frames, ended } = await begun(await stream.open());
  await stream.app.close();
  await ended;
  expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
});

test("a stream ends soon after its key was revoked", async () => {
  const stream = await openStream("postgres", { checkMs: 100 });
  const { frames, ended } = await begun(await stream.open());
  await stream.revoke();
  await ended;
  expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
  expect(await refusalOf(await stream.open())).toEqual([401, null, "unauthorized"]);
});

test("events that cannot be read close the stream without an event, and are 503 until they can be", async () => {
  const stream = await openStream("postgres");
  const { frames, ended } = await begun(await stream.open());
  await sql`alter table run_event rename to moved_away`.execute(stream.storage.db);
  await stream.wake();
  await ended;
  expect(frames.map(({ event }) => event)).toEqual(["metadata"]);
  expect(await refusalOf(await stream.open())).toEqual([503, "5", "not_ready"]);
  expect(await refusalOf(await stream.open(`${stream.path}?format=json`))).toEqual([503, "5", "not_ready"]);
  await sql`alter table moved_away rename to run_event`.execute(stream.storage.db);
  await stream.finish();
  expect(idsOf(await framesOf(await stream.open(stream.path, { "last-event-id": "1" })))).toEqual([2]);
});

test("large events are given few at a time, and all of them", async () => {
  const stream = await openStream("postgres");
  const text = "x".repeat(50_000);
  const large = Array.from({ length: 30 }, () => ({ event: "custom" as const, payload: { name: "svc.plan", text } }));
  await append(stream.storage, stream.owner, large, { isNoticed: true });
  await stream.finish();
  const ids: number[] = [];
  for (let hasMore = true; hasMore;) {
    const { body } = await stream.call("GET", `${stream.path}?format=json&limit=500&after_seq=${ids.at(-1) ?? 0}`);
    expect(JSON.stringify(body).length).toBeLessThan(400_000);
    ids.push(...body.events.map(({ seq }: { seq: number }) => seq));
    hasMore = body.has_more;
  }
  expect(ids).toEqual(Array.from({ length: 32 }, (_, index) => index + 1));
  expect(idsOf(await framesOf(await stream.open()))).toEqual(ids);
});
