import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { TurndProtocolError } from "../../../src/turnd/client/errors.ts";
import type { ReadEvent } from "../../../src/turnd/client/parse-event.ts";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { ProblemError } from "../../../src/turnd/protocol/index.ts";
import { answering, makeTurn, sendTurn } from "./made-turn.ts";

/** A turn of a turnd that is newer: changed lines, with the digest that they have. */
function newerTurn(change: (line: Record<string, unknown>, index: number) => Record<string, unknown>): string[] {
  const lines = makeTurn(["one", "two", "three"]).map((line, index) => JSON.stringify(change(JSON.parse(line), index)));
  const hash = createHash("sha256")
    .update(lines.slice(0, -1).join("\n") + "\n")
    .digest("hex");
  return lines.map((line) => line.replace(/"digest":"[0-9a-f]{64}"/, `"digest":"${hash}"`));
}

async function follow(lines: readonly string[]) {
  let asked = 0;
  const baseUrl = await answering((request, response) => {
    asked += 1;
    sendTurn(lines, request, response);
  });
  const following = createTurndClient({ baseUrl }).follow("turn-1");
  const events: ReadEvent[] = [];
  for await (const event of following) events.push(event);
  return { events, following, asked };
}

/** A client of a server that answers everything with this. */
async function clientOf(status: number, body: unknown) {
  const baseUrl = await answering((_request, response) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)),
  );
  return createTurndClient({ baseUrl, retries: 0 });
}

test("an event of a type that a newer turnd has added is given as `unknown`, at once, and the turn is proved", async () => {
  const data = { colour: "red", deep: [{ is: true }] };
  const { events, following, asked } = await follow(
    newerTurn((line, index) => (index === 1 ? { ...line, type: "colour.changed", data } : line)),
  );
  expect(events[1]).toMatchObject({ type: "unknown", event_type: "colour.changed", seq: 2, turn_id: "turn-1", data });
  expect(following.isProved).toBe(true);
  expect(asked).toBe(1);
});

test("words of closed lists that a newer turnd has added are kept in events, and the turn is proved", async () => {
  const failure = { code: "model_asleep", message: "it sleeps", retryable: true, user_action: "wake", evidence: [] };
  const { events, following, asked } = await follow(
    newerTurn((line, index) => {
      if (index === 0) return { ...line, type: "retry", data: { attempt: 1, code: "model_asleep", message: "x" } };
      if (index === 1) return { ...line, type: "warning", data: { code: "brand_new", message: "x", extra: 1 } };
      if (line["type"] !== "turn.ended") return line;
      return { ...line, data: { ...(line["data"] as object), status: "paused", cancelled_by: "moon", failure } };
    }),
  );
  expect(events[0]).toMatchObject({ type: "retry", data: { code: "model_asleep" } });
  expect(events[1]).toMatchObject({ type: "warning", data: { code: "brand_new", message: "x" } });
  expect(events[1]).not.toHaveProperty("data.extra");
  expect(events.at(-1)).toMatchObject({
    type: "turn.ended",
    data: { status: "paused", cancelled_by: "moon", failure },
  });
  expect(following.isProved).toBe(true);
  expect(asked).toBe(1);
});

test("a newer turn that was changed on the way is found out all the same", async () => {
  const lines = newerTurn((line, index) => (index === 1 ? { ...line, type: "colour.changed", data: {} } : line));
  const changed = lines.map((line) => line.replace("colour.changed", "colour.altered"));
  await expect(follow(changed)).rejects.toMatchObject({ name: "TurndHistoryError", reason: "changed" });
});

test("what is no word in the place of one is another shape, as before", async () => {
  const { events } = await follow(
    newerTurn((line, index) => (index === 1 ? { ...line, type: "<html>no word</html>" } : line)),
  );
  expect(events[1]).toMatchObject({ type: "unreadable", reason: "bad_shape", seq: 2 });
  const turnd = await clientOf(200, { status: "a whole sentence", version: "9", uptime_ms: 1 });
  await expect(turnd.health()).rejects.toBeInstanceOf(TurndProtocolError);
});

const SNAPSHOT = {
  turn_id: "turn-1",
  request_id: "request-1",
  session_id: "session-1",
  status: "paused",
  queue_position: 0,
  events_url: "/v1/turns/turn-1/events",
  result_url: "/v1/turns/turn-1/result",
  executor: "cli-b",
  mode: "dream",
  workspace: "/workspace",
  created_at: "2026-01-01T00:00:00.000Z",
  last_seq: 0,
  shade: "dark",
};

test("a status and a mode of a newer turnd are kept in answers, in lists too, and new fields are left out", async () => {
  const { shade: _shade, ...known } = SNAPSHOT;
  expect(await (await clientOf(200, SNAPSHOT)).turn("turn-1")).toEqual(known);
  expect(await (await clientOf(200, { turns: [SNAPSHOT, { ...SNAPSHOT, status: "queued" }] })).turns()).toEqual([
    known,
    { ...known, status: "queued" },
  ]);
});

test("a turn whose status is new is waited for: its stream decides whether it has ended", async () => {
  const result = { ...JSON.parse(makeTurn(["x"])[1] ?? "").data, turn_id: "turn-1", request_id: "request-1" };
  const decision = { rule: "r", verdict: "completed", on: "moon", evidence: [] };
  const paths: string[] = [];
  const baseUrl = await answering((request, response) => {
    paths.push(request.url ?? "");
    if (request.url?.includes("/events") === true) return sendTurn(makeTurn(["x"]), request, response);
    const body = request.url?.endsWith("/result")
      ? { ...result, session_id: "session-1", executor: "cli-b", ended_at: "2026-01-01T00:00:00.000Z", decision }
      : SNAPSHOT;
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  expect(await createTurndClient({ baseUrl }).wait("turn-1")).toMatchObject({ status: "completed", decision });
  expect(paths).toEqual(["/v1/turns/turn-1", "/v1/turns/turn-1/events?verbose=false", "/v1/turns/turn-1/result"]);
});

test("a refusal with a code of a newer turnd is a ProblemError, with that code and the answer's status", async () => {
  const turnd = await clientOf(418, { detail: { code: "is_teapot", message: "no coffee", handle: "left" } });
  const fault: unknown = await turnd.turn("turn-1").catch((error: unknown) => error);
  expect(fault).toBeInstanceOf(ProblemError);
  expect(fault).toMatchObject({ code: "is_teapot", status: 418, message: "no coffee", extras: { handle: "left" } });
  const refused = turnd.follow("turn-1")[Symbol.asyncIterator]().next();
  await expect(refused).rejects.toMatchObject({ code: "is_teapot" });
});

test("a refusal of a newer turnd that passes by itself is repeated by its status", async () => {
  let asked = 0;
  const baseUrl = await answering((_request, response) => {
    asked += 1;
    const [status, body] = asked === 1 ? [503, { detail: { code: "having_lunch", message: "soon" } }] : [200, SNAPSHOT];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  expect(await createTurndClient({ baseUrl }).turn("turn-1")).toMatchObject({ status: "paused" });
  expect(asked).toBe(2);
});
