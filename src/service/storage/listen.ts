import type { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { backoffMs } from "../../kit/retry/backoff.ts";

/** What a room does with a notice. Notices are hints: each may be lost, doubled or late. Law: the row is the truth. */
export interface Subscription {
  onNotice(payload: string): void;
  /** Notices may have been missed: look at the rows. */
  onGap(): void;
}

/** Hands out the database's notices. */
export interface Listener {
  /** @returns ends the subscription */
  listen(channel: string, subscription: Subscription): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

const WAITS = { firstMs: 100, longestMs: 5_000 };
const PROBE_MS = 10_000;

/** PGlite delivers in this process, so that nothing is ever missed. */
export function createPgliteListener(pglite: PGlite): Listener {
  const ends = new Set<() => Promise<void>>();
  return {
    async listen(channel, { onNotice }) {
      const unlisten = await pglite.listen(channel, onNotice);
      const end = async (): Promise<void> => {
        if (ends.delete(end) && !pglite.closed) await unlisten();
      };
      ends.add(end);
      return end;
    },
    async close() {
      for (const end of ends) await end();
    },
  };
}

/** One connection for all channels of this process; it reconnects by itself, and reports that there was a gap. */
export function createPostgresListener(url: string, events: { onConnectionLost(error: Error): void }): Listener {
  const channels = new Map<string, Set<Subscription>>();
  let client: pg.Client | undefined;
  let connecting: Promise<void> | undefined;
  let failures = 0;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function connect(): Promise<void> {
    const fresh = new pg.Client({
      connectionString: url,
      keepAlive: true,
      application_name: "svc listen",
      query_timeout: PROBE_MS,
    });
    let isBroken = false;
    const onBroken = (error: Error): void => {
      if (isBroken) return;
      isBroken = true;
      if (client === fresh) client = undefined;
      clearInterval(probe);
      void endQuietly(fresh);
      if (isClosed) return;
      events.onConnectionLost(error);
      reconnectLater();
    };
    fresh.on("error", onBroken);
    fresh.on("end", () => onBroken(new Error("the listening connection was closed")));
    fresh.on("notification", ({ channel, payload = "" }) => {
      for (const subscription of channels.get(channel) ?? []) subscription.onNotice(payload);
    });
    const probe = setInterval(() => void fresh.query("select 1").catch(onBroken), PROBE_MS);
    probe.unref();
    try {
      await fresh.connect();
      for (const channel of channels.keys()) await fresh.query(`listen ${quote(channel)}`);
    } catch (error) {
      isBroken = true;
      clearInterval(probe);
      void endQuietly(fresh);
      throw error;
    }
    client = fresh;
    failures = 0;
  }

  function reconnectLater(): void {
    const waitMs = backoffMs(WAITS, failures);
    failures += 1;
    timer = setTimeout(() => {
      connecting = reconnect();
    }, waitMs);
  }

  async function reconnect(): Promise<void> {
    try {
      await connect();
    } catch {
      // Said when the connection was lost; what follows is only the trying again.
      if (!isClosed) reconnectLater();
      return;
    }
    for (const subscriptions of channels.values()) for (const { onGap } of subscriptions) onGap();
  }

  return {
    async listen(channel, subscription) {
      const known = channels.get(channel);
      const subscriptions = known ?? new Set();
      subscriptions.add(subscription);
      channels.set(channel, subscriptions);
      if (client === undefined) {
        await (connecting ??= connect());
      } else if (known === undefined) {
        await client.query(`listen ${quote(channel)}`);
      }
      // A second channel may have come while the connection was being made.
      if (known === undefined) await client?.query(`listen ${quote(channel)}`);
      return async () => {
        subscriptions.delete(subscription);
        if (subscriptions.size > 0 || channels.get(channel) !== subscriptions) return;
        channels.delete(channel);
        await client?.query(`unlisten ${quote(channel)}`);
      };
    },
    async close() {
      isClosed = true;
      clearTimeout(timer);
      await connecting?.catch(() => undefined);
      await client?.end();
    },
  };
}

/** An `end` of a socket that is gone already may fail; nothing is left to end then. */
async function endQuietly(client: pg.Client): Promise<void> {
  await client.end().catch(() => undefined);
}

function quote(channel: string): string {
  if (!/^[a-z0-9_]+$/.test(channel)) throw new Error(`a channel is lower-case letters, digits and _, got "${channel}"`);
  return `"${channel}"`;
}
