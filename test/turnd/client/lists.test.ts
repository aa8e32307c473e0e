import { expect, onTestFinished, test } from "vitest";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { fakeDaemonIn } from "../../harness/fake-daemon.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { answering } from "./made-turn.ts";

async function startTurnd() {
  const daemon = await fakeDaemonIn(temporaryDirectory(onTestFinished));
  return createTurndClient({ baseUrl: daemon.url });
}

test("each turn comes once while others are added and deleted; to leave the loop ends the reading", async () => {
  const turnd = await startTurnd();
  const make = async (name: string): Promise<string> => {
    await turnd.createSession({ executor: "cli-b", session_id: `session-${name}` });
    const { turn_id: id } = await turnd.submit({ session_id: `session-${name}`, input: "Done." });
    await turnd.wait(id);
    return id;
  };
  const made: string[] = [];
  for (const name of ["1", "2", "3", "4", "5", "6", "7"]) made.push(await make(name));
  const seen: string[] = [];
  for await (const { turn_id: id } of turnd.eachTurn({ limit: 2 })) {
    seen.push(id);
    // The last of a page, which the next page's cursor names; the first of the next page; and one that is new.
    if (seen.length === 2) {
      await turnd.deleteSession("session-6");
      await turnd.deleteSession("session-5");
      await make("8");
    }
  }
  const [first, second, third, fourth, , sixth, seventh] = made;
  expect(seen).toEqual([seventh, sixth, fourth, third, second, first]);

  const sessions: string[] = [];
  for await (const { session_id: id } of turnd.eachSession({ limit: 1 })) {
    sessions.push(id);
    if (sessions.length === 1) await turnd.deleteSession("session-7");
    if (sessions.length === 4) break;
  }
  expect(sessions).toEqual(["session-8", "session-4", "session-3", "session-2"]);
});

test("each entry of a directory comes once, whatever bytes its name has, while others come and go", async () => {
  const turnd = await startTurnd();
  const { session_id: id } = await turnd.createSession({ executor: "cli-b" });
  const names = ["a b", "b%c", "ü", "z"];
  for (const name of names) await turnd.writeFile(id, `list/${name}`, name);
  const seen: string[] = [];
  for await (const { name, path } of turnd.eachFile(id, "list", { limit: 1 })) {
    seen.push(name);
    if (seen.length === 2) await turnd.removeFile(id, { path });
    if (seen.length === 2) await turnd.writeFile(id, "list/0", "before all of them");
  }
  expect(seen.toSorted()).toEqual(names.toSorted());
});

test("an aborted reading rejects with its reason; a page that leads to itself is no endless list", async () => {
  const turnd = await startTurnd();
  const reason = new Error("enough");
  const list = turnd.eachTurn({ signal: AbortSignal.abort(reason) });
  await expect(list[Symbol.asyncIterator]().next()).rejects.toBe(reason);
  const baseUrl = await answering((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end('{"turns":[],"next_cursor":"again"}'),
  );
  const endless = createTurndClient({ baseUrl }).eachTurn();
  await expect(endless[Symbol.asyncIterator]().next()).rejects.toThrow(/leads to itself/);
});
