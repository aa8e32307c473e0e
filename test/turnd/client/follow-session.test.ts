import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import type { SessionFollowOptions } from "../../../src/turnd/client/follow-session.ts";
import type { ReadEvent } from "../../../src/turnd/client/parse-event.ts";
import { createTurndClient, type TurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { fakeDaemonIn } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { startCuttingProxy, type Cut } from "./cutting-proxy.ts";
import { answering, frame, makeTurn, refuse } from "./made-turn.ts";

/** The events of turns of one session, as turnd names and orders them. */
function makeSession(...turns: readonly (readonly string[])[]) {
  return turns.flatMap((texts, index) =>
    makeTurn(texts).map((line) => {
      const { seq }: { seq: number } = JSON.parse(line);
      const turnId = `turn-${index + 1}`;
      return { id: `${turnId}:${seq}`, line: line.replace('"turn_id":"turn-1"', `"turn_id":"${turnId}"`) };
    }),
  );
}

type Made = ReturnType<typeof makeSession>;

/** Answers as turnd does for a session whose turns have ended. */
function sendSession(lines: Made, { headers }: IncomingMessage, response: ServerResponse): void {
  const after = lines.findIndex(({ id }) => id === headers["last-event-id"]);
  if (headers["last-event-id"] !== undefined && after === -1) return refuse(response, [422, "bad_cursor"]);
  const rest = lines.slice(after + 1);
  if (headers.accept === "text/event-stream") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(rest.map(({ id, line }) => frame(line).replace(/^id: .*/, `id: ${id}`)).join(""));
  } else {
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    response.end(rest.map(({ line }) => `${line}\n`).join(""));
  }
}

/** Follows until so many turns have ended. */
async function collect(turnd: TurndClient, sessionId: string, turns: number, options: SessionFollowOptions = {}) {
  const following = turnd.followSession(sessionId, options);
  const events: ReadEvent[] = [];
  const proofs: boolean[] = [];
  for await (const event of following) {
    events.push(event);
    if (event.type !== "turn.ended") continue;
    proofs.push(following.isProved);
    if (proofs.length === turns) break;
  }
  return { events, proofs, following };
}

function namesOf(events: readonly ReadEvent[]): string[] {
  return events.map((event) => `${event.turn_id ?? ""}:${event.seq}`);
}

test("a session is followed turn by turn, and a cursor of any event goes on behind it with its proof", async () => {
  // The digest covers the lines as they were sent.
  const session = withDigests(makeSession(["a", "b"], ["c"], ["d", "e"]));
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => sendSession(session, request, response)),
  });
  const whole = await collect(turnd, "session-1", 3);
  expect(namesOf(whole.events)).toEqual(session.map(({ id }) => id));
  expect(whole.proofs).toEqual([true, true, true]);

  for (const [index] of session.slice(0, -1).entries()) {
    const first = turnd.followSession("session-1");
    let count = 0;
    for await (const { seq } of first) if (seq > 0 && (count += 1) > index) break;
    const left = session.slice(index + 1);
    const turns = left.filter(({ line }) => line.includes("turn.ended")).length;
    const rest = await collect(turnd, "session-1", turns, { after: first.cursor });
    expect(namesOf(rest.events)).toEqual(left.map(({ id }) => id));
    expect(rest.proofs).toEqual(Array.from({ length: turns }, () => true));
  }
});

test("a bare id of the stream is a cursor too; only the turn that it cuts is not proved", async () => {
  const session = withDigests(makeSession(["a", "b"], ["c"]));
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => sendSession(session, request, response)),
  });
  expect((await collect(turnd, "session-1", 2, { after: "turn-1:1" })).proofs).toEqual([false, true]);
  expect((await collect(turnd, "session-1", 1, { after: "turn-1:3" })).proofs).toEqual([true]);
  expect(() => turnd.followSession("session-1", { after: "7" })).toThrow("not a cursor of a session");
});

test("a turn whose end was left out on the way is asked for again", async () => {
  const session = withDigests(makeSession(["a"], ["b"]));
  let asked = 0;
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => {
      asked += 1;
      sendSession(asked === 1 ? session.toSpliced(1, 1) : session, request, response);
    }),
  });
  const { events, proofs } = await collect(turnd, "session-1", 2);
  expect(namesOf(events)).toEqual(session.map(({ id }) => id));
  expect(proofs).toEqual([true, true]);
  expect(asked).toBe(2);
});

test("a turn whose end was never written does not hide the next, and is not proved", async () => {
  const session = withDigests(makeSession(["a"], ["b"])).toSpliced(1, 1);
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => sendSession(session, request, response)),
  });
  const { events, proofs } = await collect(turnd, "session-1", 1);
  expect(namesOf(events)).toEqual(["turn-1:1", "turn-2:1", "turn-2:2"]);
  expect(proofs).toEqual([true]);
});

test("a history that was changed underneath is found out, with its turn", async () => {
  const session = makeSession(["a"], ["b"]);
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => sendSession(session, request, response)),
  });
  const following = turnd.followSession("session-1");
  const read = async (): Promise<void> => {
    for await (const { seq } of following) expect(seq).toBeGreaterThan(0);
  };
  await expect(read()).rejects.toMatchObject({ name: "TurndHistoryError", reason: "changed" });
  expect(following.turnId).toBe("turn-2");
});

test("a session stream that a proxy keeps back is read by asking", async () => {
  const session = withDigests(makeSession(["a"], ["b"]));
  const turnd = createTurndClient({
    baseUrl: await answering((request, response) => {
      if (request.headers.accept === "text/event-stream")
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
      else sendSession(session, request, response);
    }),
  });
  const { events, proofs } = await collect(turnd, "session-1", 2, { silentAfterMs: 200 });
  expect(namesOf(events)).toEqual(session.map(({ id }) => id));
  expect(proofs).toEqual([true, true]);
});

/** Each turn's end with the digest of that turn's lines. */
function withDigests(session: Made): Made {
  const turns = Map.groupBy(session, ({ id }) => id.slice(0, id.lastIndexOf(":")));
  return [...turns.values()].flatMap((lines) => {
    const before = lines.slice(0, -1).map(({ line }) => `${line}\n`);
    const hash = createHash("sha256").update(before.join("")).digest("hex");
    return lines.map(({ id, line }) => ({ id, line: line.replace(/"digest":"\w+"/, `"digest":"${hash}"`) }));
  });
}

test("a session is followed across cuts and kill -9 of turnd, by one following and by one that is started anew", async () => {
  const directory = temporaryDirectory(onTestFinished);
  let daemon = await fakeDaemonIn(directory);
  const proxy = await startCuttingProxy(
    () => daemon.url,
    ({ sent }: Cut) => {
      const second = [...sent.matchAll(/\n\n/g)][1];
      return second === undefined ? undefined : second.index + 2;
    },
  );
  onTestFinished(() => proxy.close());
  const turnd = createTurndClient({ baseUrl: proxy.url });
  const { session_id: sessionId } = await turnd.createSession({ executor: "cli-b" });
  for (const input of ["burst 3\nOne.", "paced 6 0.1\nTwo.", "tool ls\nThree."])
    await turnd.submit({ session_id: sessionId, input });
  const following = collect(turnd, sessionId, 4);

  let cursor: string | undefined;
  const anew: ReadEvent[] = [];
  const proofs: boolean[] = [];
  let isKilled = false;
  while (proofs.length < 4) {
    // Each time a new process would begin: with nothing but the cursor.
    const one = turnd.followSession(sessionId, { after: cursor });
    for await (const event of one) {
      anew.push(event);
      ({ cursor } = one);
      if (event.type === "turn.ended") proofs.push(one.isProved);
      if (anew.length % 3 === 0 || proofs.length === 4) break;
    }
    if (proofs.length === 1 && !isKilled) {
      isKilled = true;
      daemon.kill("SIGKILL");
      await daemon.exited;
      daemon = await fakeDaemonIn(directory);
      await turnd.submit({ session_id: sessionId, input: "Four." });
    }
  }
  const whole = await following;
  expect(anew).toEqual(whole.events);
  expect(new Set(namesOf(anew)).size).toBe(anew.length);
  expect([...proofs, ...whole.proofs]).toEqual(Array.from({ length: 8 }, () => true));
  expect(isKilled).toBe(true);
});

test("a session that is deleted while it is followed is removed; one that never was is not found", async () => {
  const daemon = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  const turnd = createTurndClient({ baseUrl: daemon.url });
  const { session_id: sessionId } = await turnd.createSession({ executor: "cli-b" });
  await turnd.submit({ session_id: sessionId, input: "One." });
  const read = async (): Promise<void> => {
    for await (const event of turnd.followSession(sessionId))
      if (event.type === "turn.ended") await turnd.deleteSession(sessionId);
  };
  await expect(read()).rejects.toMatchObject({ name: "TurndHistoryError", reason: "removed" });
  await expect(collect(turnd, "no-such-session", 1)).rejects.toMatchObject({ code: "session_not_found" });
});
