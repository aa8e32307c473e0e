import { expect, test } from "vitest";
import { TurndUnreachable } from "../../../src/turnd/client/errors.ts";
import { createTurndClient, type TurndClient } from "../../../src/turnd/client/turnd-client.ts";
import { answering } from "./made-turn.ts";

/** Answers the head of 1000 bytes and no more than their beginning, then breaks. */
const breaking = () =>
  answering((_request, response) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write("the beginning", () => response.destroy());
  });

const CALLS: readonly (readonly [string, (turnd: TurndClient, signal?: AbortSignal) => Promise<unknown>])[] = [
  ["readFile", (turnd, signal) => turnd.readFile("s", "f", { signal })],
  ["diff", (turnd, signal) => turnd.diff("t", { signal })],
];

test.each(CALLS)("%s of a turnd that does not answer is TurndUnreachable, and an abort its reason", async (_, call) => {
  await expect(call(createTurndClient({ baseUrl: "http://127.0.0.1:1" }))).rejects.toBeInstanceOf(TurndUnreachable);
  const closed = await answering((request) => request.socket.destroy());
  await expect(call(createTurndClient({ baseUrl: closed }))).rejects.toBeInstanceOf(TurndUnreachable);
  const reason = new Error("enough");
  const stop = new AbortController();
  const silent = await answering(() => stop.abort(reason));
  await expect(call(createTurndClient({ baseUrl: silent }), stop.signal)).rejects.toBe(reason);
});

test("a diff that breaks off is no diff", async () => {
  const turnd = createTurndClient({ baseUrl: await breaking() });
  await expect(turnd.diff("t")).rejects.toBeInstanceOf(TurndUnreachable);
});

test("a refusal that breaks off is TurndUnreachable too", async () => {
  const baseUrl = await answering((_request, response) => {
    response.writeHead(404, { "content-length": "1000", "content-type": "application/json" });
    response.write('{"detail":', () => response.destroy());
  });
  for (const [, call] of CALLS)
    await expect(call(createTurndClient({ baseUrl }))).rejects.toBeInstanceOf(TurndUnreachable);
});
