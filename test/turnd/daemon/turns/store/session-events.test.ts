import { expect, test } from "vitest";
import type { TestDaemon } from "../../../../harness/daemon.ts";
import { sharedDaemon } from "../../../../harness/shared-daemon.ts";

const SESSION = { executor: "cli-b", session_id: "session-1" };

/** Ids and names of a session's SSE frames, until enough turns have ended. */
async function follow(turnd: TestDaemon, turns: number, lastEventId?: string): Promise<string[]> {
  const leave = new AbortController();
  const response = await fetch(`${turnd.url}/v1/sessions/session-1/events`, {
    headers: {
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    },
    signal: leave.signal,
  });
  expect(response.status).toBe(200);
  let text = "";
  const decoder = new TextDecoder();
  const frames = (): string[] =>
    [...text.matchAll(/^id: (.*)\nevent: (.*)\n/gm)].map(([, id, name]) => `${id} ${name}`);
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (frames().filter((frame) => frame.endsWith(" end")).length >= turns) break;
  }
  leave.abort();
  return frames();
}

test("a session's stream runs over all its turns, those still to come too", async () => {
  const turnd = await sharedDaemon();
  const first = await turnd.run({ ...SESSION, input: "one" });
  const following = follow(turnd, 2);
  const second = await turnd.run({ session_id: "session-1", input: "two" });
  const expected = [first, second].flatMap(({ turn_id, counts }) =>
    Array.from({ length: counts.events }, (_, index) => `${turn_id}:${index + 1}`),
  );
  const frames = await following;
  expect(frames.map((frame) => frame.split(" ")[0])).toEqual(expected);
  // From any place, exactly the rest.
  for (const cut of [0, first.counts.events - 1, first.counts.events]) {
    const rest = await follow(turnd, cut < first.counts.events - 1 ? 2 : 1, expected[cut]);
    expect(rest).toEqual(frames.slice(cut + 1));
  }
});

test("without SSE it is the NDJSON of what is there", async () => {
  const turnd = await sharedDaemon();
  const turns = [
    await turnd.run({ ...SESSION, input: "one" }),
    await turnd.run({ session_id: "session-1", input: "two" }),
  ];
  const { text } = await turnd.request("GET", "/v1/sessions/session-1/events");
  expect(text.trimEnd().split("\n")).toHaveLength(turns.reduce((sum, turn) => sum + turn.counts.events, 0));
});

test("a cursor that is none, of another session, or beyond the end is refused", async () => {
  const turnd = await sharedDaemon();
  const { turn_id, counts } = await turnd.run({ ...SESSION, input: "one" });
  const refusal = async (after: string): Promise<[number, string]> => {
    const answer = await turnd.request("GET", `/v1/sessions/session-1/events?after=${after}`);
    return [answer.status, answer.body.detail.code];
  };
  expect(await refusal("nonsense")).toEqual([422, "bad_cursor"]);
  expect(await refusal("another-turn:1")).toEqual([422, "bad_cursor"]);
  expect(await refusal(`${turn_id}:${counts.events + 1}`)).toEqual([416, "cursor_beyond_end"]);
  const unknown = await turnd.request("GET", "/v1/sessions/nobodys-session/events");
  expect(unknown.body.detail.code).toBe("session_not_found");
});
