import { createHash } from "node:crypto";
import { sql } from "kysely";
import { connectTurnd } from "../connect-turnd.ts";
import type { Storage } from "../../storage/storage.ts";
import { recordReady } from "../sandbox-rows.ts";
import { deleteSession } from "../delete-session.ts";
import { SandboxUnavailable, type Sandboxes, type SandboxScope } from "../sandboxes.ts";

export interface StaticOptions {
  readonly storage: Storage;
  readonly urls: readonly string[];
  readonly token: string | undefined;
}

/** The turnds that the operator has started. A thread stays with the one it began with. */
export function createStaticSandboxes({ storage, urls, token }: StaticOptions): Sandboxes {
  const clientOf = (baseUrl: string) => connectTurnd({ baseUrl, token });
  return {
    kind: "static",
    isShared: true,
    async acquire(scope) {
      const { threadPk } = scope;
      const pinned = await findPinned(storage, scope);
      if (pinned !== undefined) {
        const url = urls.find((each) => each === pinned.address);
        if (url === undefined) {
          throw new SandboxUnavailable(
            "executor_unavailable",
            `the thread's turnd, sandbox ${pinned.id}, is not in SERVICE_TURND_URLS any more`,
          );
        }
        return { id: pinned.id, generation: pinned.generation, client: clientOf(url) };
      }
      const url = pick(urls, scope.sessionId);
      const scopeKey = `static:${url}`;
      const known = await pin(storage, threadPk, scopeKey);
      if (known !== undefined) return { ...known, client: clientOf(url) };
      await recordReady(storage, { kind: "static", scopeKey, address: url, isNewStart: false });
      const made = await pin(storage, threadPk, scopeKey);
      if (made === undefined) throw new Error(`there is no row of ${url}, which was just written`);
      return { ...made, client: clientOf(url) };
    },
    prepareWorkspace: async () => undefined,
    // They are the operator's to start and stop.
    sweep: async () => undefined,
    async removeThread(scope, signal) {
      const { address } = (await findPinned(storage, scope)) ?? { address: pick(urls, scope.sessionId) };
      // A turnd that is no longer in the list is the operator's, with all that is in it.
      if (address === null || !urls.includes(address)) return;
      await deleteSession(clientOf(address), scope.sessionId, signal);
    },
    async look() {
      const answers = await Promise.all(
        urls.map((url) =>
          clientOf(url)
            .ready()
            .then(
              ({ ready }) => ready,
              () => false,
            ),
        ),
      );
      const down = urls.filter((_, index) => answers[index] !== true);
      return down.length < urls.length ? { ok: true } : { ok: false, message: `no turnd is ready: ${down.join(", ")}` };
    },
    close: async () => undefined,
  };
}

/** Keeps a thread with a turnd from now on, in one statement: every new thread's first run waits for it. */
async function pin(
  { db }: Storage,
  threadPk: number,
  scopeKey: string,
): Promise<{ id: string; generation: number } | undefined> {
  const { rows } = await sql<{ id: string; generation: number }>`
    with known as (select id, generation from sandbox where scope_key = ${scopeKey}), pinned as (
      update thread set sandbox_id = known.id from known where thread.pk = ${threadPk} and thread.sandbox_id is null
    ) select id, generation from known`.execute(db);
  return rows[0];
}

/** The turnd that a thread's turns ran in so far. */
async function findPinned(storage: Storage, { sandboxId }: SandboxScope) {
  if (sandboxId === null) return undefined;
  return storage.db
    .selectFrom("sandbox")
    .select(["id", "address", "generation"])
    .where("id", "=", sandboxId)
    .executeTakeFirst();
}

/** Rendezvous hashing: a turnd more or less moves only the threads that it takes or had. */
function pick(urls: readonly string[], sessionId: string): string {
  const weight = (url: string): string => createHash("sha256").update(`${sessionId} ${url}`).digest("hex");
  const [best] = urls.toSorted((left, right) => (weight(left) < weight(right) ? 1 : -1));
  if (best === undefined) throw new SandboxUnavailable("executor_unavailable", "SERVICE_TURND_URLS names no turnd");
  return best;
}
