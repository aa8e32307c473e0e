import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createTurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { answering } from "./made-turn.ts";

const MESSAGE =
  'id: 1\nevent: message\ndata: {"v":1,"seq":1,"at":"2026-01-01T00:00:00.000Z","turn_id":"t","session_id":"s","executor":"cli-b","type":"message","data":{"message_id":"m","text":"x"}}\n\n';

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

test("an abort ends what is read after garbage was collected too, and closes its connection", async () => {
  let open = 0;
  const url = await answering((request, response) => {
    open += 1;
    response.on("close", () => (open -= 1));
    const isFile = request.url?.includes("/files/") === true;
    response.writeHead(200, { "content-type": isFile ? "application/octet-stream" : "text/event-stream" });
    response.write(isFile ? "its beginning" : MESSAGE);
  });
  const turnd = createTurndClient({ baseUrl: url });
  const controller = new AbortController();
  const { signal } = controller;
  const seen = Promise.withResolvers<number>();
  const following = (async () => {
    for await (const { seq } of turnd.follow("turn-1", { signal })) seen.resolve(seq);
  })();
  const reading = turnd.readFile("session-1", "large.bin", { signal }).then((answer) => answer.text());
  expect(await seen.promise).toBe(1);
  await waitFor("both answers", () => open === 2);
  for (let round = 0; round < 5; round += 1) {
    // What is kept for the current turn of the event loop is let go with it.
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
  }
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(following).rejects.toBe(reason);
  await expect(reading).rejects.toBe(reason);
  await waitFor("both connections are closed", () => open === 0);
});
