import { sql } from "kysely";
import { expect, onTestFinished } from "vitest";
import { waitFor } from "../../harness/wait-for.ts";
import { call, testApp, type AppOverrides } from "./app.ts";
import { makeUser, testAuth } from "./auth.ts";
import { openRunDesk, outcomeOf } from "./run-desk.ts";
import { readAll, type SentEvent } from "./service.ts";
import { freshStorage, type EngineKind } from "./storage.ts";

/** An app that listens, a user with a key, and a running run of which the test is the attempt. */
export async function openStream(kind: EngineKind, overrides: AppOverrides = {}) {
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
  const path = `/api/agent/runs/${run.id}/events`;
  return {
    app,
    storage,
    desk,
    owner,
    path,
    open: (at = path, more: Record<string, string> = {}) => fetch(url + at, { headers: { ...headers, ...more } }),
    call: (method: "GET" | "POST", at: string, body?: object) => call(app, method, at, body, { token: secret }),
    write: () => desk.write(owner),
    finish: () => desk.finish(owner, outcomeOf("completed")),
    revoke: () => auth.keys.revoke(actor, key.id),
    wake: () => sql`select pg_notify('svc_events', ${run.id})`.execute(storage.db),
  };
}

/** Status, `Retry-After` and code of a refusal. */
export async function refusalOf(response: Response): Promise<unknown> {
  return [response.status, response.headers.get("retry-after"), JSON.parse(await response.text()).detail.code];
}

/** The frames of a stream, as they come; `ended` when it ended or was cut off. */
export function reading(response: Response): { readonly frames: readonly SentEvent[]; readonly ended: Promise<void> } {
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

/** All frames of a stream. */
export async function framesOf(response: Response): Promise<readonly SentEvent[]> {
  const { frames, ended } = reading(response);
  await ended;
  return frames;
}

/** A stream that has sent the first event of its run. */
export async function begun(response: Response): Promise<ReturnType<typeof reading>> {
  const read = reading(response);
  await waitFor("the first event", () => read.frames.length > 0);
  return read;
}

/** The numbers of frames. */
export const idsOf = (frames: readonly SentEvent[]): number[] => frames.map(({ id }) => Number(id));
