import { lchown, lstat, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { backoffMs } from "../../../kit/retry/backoff.ts";
import { sandboxToken } from "../../auth/derive.ts";
import { makePassable } from "../../storage/data-directory.ts";
import type { Storage } from "../../storage/storage.ts";
import { recordReady } from "../sandbox-rows.ts";
import { createFollowingClient, type Place } from "../following-client.ts";
import { deleteSession } from "../delete-session.ts";
import { orAborted } from "../or-aborted.ts";
import { removeWorkspace } from "./remove-workspace.ts";
import { SandboxUnavailable, type Sandbox, type Sandboxes } from "../sandboxes.ts";
import { findRunning, isRunning, startChild, stopChild, type ChildOptions, type TurndChild } from "./turnd-child.ts";

export interface EmbeddedOptions {
  readonly storage: Storage;
  readonly dataDirectory: string;
  /** Starts turnd: program and arguments. */
  readonly command: readonly string[];
  /** The service's own environment; what is only the service's is left out. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly sandboxSecret: string;
  readonly startMs: number;
  readonly stopMs: number;
  readonly maxTurns: number;
  readonly logger: Logger;
  /** Who the CLIs run as; absent: the service's own user. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

const SCOPE = "embedded";
const WATCH_MS = 1_000;
const WAITS = { firstMs: 1_000, longestMs: 30_000 };

/** One turnd for all threads, started by the service and started again when it ends; it recovers its turns by itself. */
export function createEmbeddedSandboxes(options: EmbeddedOptions): Sandboxes {
  const { storage, dataDirectory, logger } = options;
  const closing = new AbortController();
  let current: { readonly child: TurndChild; readonly sandbox: Sandbox } | undefined;
  let starting: Promise<Sandbox> | undefined;
  let watching: Promise<void> | undefined;
  let failures = 0;
  const childOptions = childOptionsOf(options);

  async function start(): Promise<Sandbox> {
    for (const name of ["turnd", "workspaces"]) await makePassable(join(dataDirectory, name));
    await makeWorkspace("default");
    const running = await findRunning(childOptions, closing.signal);
    const child = running ?? (await startNext());
    const record = await recordReady(storage, {
      kind: "embedded",
      scopeKey: SCOPE,
      address: child.url,
      isNewStart: false,
    });
    // An attempt keeps its client for as long as its turn takes, longer than this turnd may live.
    const client = createFollowingClient(placeOf(child), async () => {
      if (current === undefined) throw new Error("turnd is gone; it is started again");
      return placeOf(current.child);
    });
    const sandbox = { id: record.id, generation: child.generation, client };
    current = { child, sandbox };
    failures = 0;
    logger.info({ url: child.url, pid: child.pid, isTakenUp: running !== undefined }, "turnd is ready");
    watching = watch(child);
    return sandbox;
  }

  const placeOf = ({ url, generation }: TurndChild): Place => ({
    baseUrl: url,
    token: childOptions.tokenOf(generation),
  });

  async function startNext(): Promise<TurndChild> {
    const row = await storage.db
      .selectFrom("sandbox")
      .select("generation")
      .where("scope_key", "=", SCOPE)
      .executeTakeFirst();
    const generation = (row?.generation ?? 0) + 1;
    const child = await startChild(childOptions, generation, closing.signal);
    for (const warning of child.warnings) logger.warn(`turnd: ${warning}`);
    await recordReady(storage, {
      kind: "embedded",
      scopeKey: SCOPE,
      address: child.url,
      isNewStart: row !== undefined,
    });
    return child;
  }

  /** A directory of the CLIs' user. */
  async function makeWorkspace(name: string): Promise<string> {
    const path = join(dataDirectory, "workspaces", name);
    await mkdir(path, { recursive: true, mode: 0o700 });
    const { owner } = options;
    // Looked at each time: a process that is killed may have made it and not given it away.
    if (owner !== undefined && (await lstat(path)).uid !== owner.uid) await lchown(path, owner.uid, owner.gid);
    return path;
  }

  /** One start at a time; after failures it waits. */
  function ensure(): Promise<Sandbox> {
    if (current !== undefined) return Promise.resolve(current.sandbox);
    starting ??= start()
      .catch((error: unknown) => {
        failures += 1;
        throw error;
      })
      .finally(() => {
        starting = undefined;
      });
    return starting;
  }

  async function watch({ pid }: TurndChild): Promise<void> {
    const { signal } = closing;
    try {
      do await delay(WATCH_MS, undefined, { signal });
      while (await isRunning(dataDirectory, pid));
    } catch {
      return; // Closing.
    }
    current = undefined;
    logger.error({ pid }, "turnd is gone; it is started again");
    while (!signal.aborted) {
      try {
        await delay(backoffMs(WAITS, failures), undefined, { signal });
        await ensure();
        return;
      } catch (error) {
        if (!signal.aborted) logger.error({ err: error }, "turnd could not be started");
      }
    }
  }

  // At once: the first run need not wait for a start, and readiness is right.
  ensure().catch((error: unknown) => {
    if (!closing.signal.aborted) logger.error({ err: error }, "turnd could not be started");
  });

  return {
    kind: "embedded",
    isShared: true,
    async acquire(_scope, signal) {
      try {
        return await orAborted(ensure(), signal);
      } catch (error) {
        if (closing.signal.aborted || signal.aborted) throw error;
        throw new SandboxUnavailable(
          "sandbox_start_failed",
          error instanceof Error ? error.message : String(error),
          error,
        );
      }
    },
    prepareWorkspace: ({ sessionId }) => makeWorkspace(sessionId),
    // It runs for as long as the service does.
    sweep: async () => undefined,
    async removeThread({ sessionId }, signal) {
      const { client } = await orAborted(ensure(), signal);
      await deleteSession(client, sessionId, signal);
      await removeWorkspace(join(dataDirectory, "workspaces", sessionId), options.owner, signal);
    },
    async look() {
      if (current === undefined) return { ok: false, message: "turnd is not running yet" };
      const { ready, checks } = await current.child.client.ready().catch(() => ({ ready: false, checks: [] }));
      if (ready) return { ok: true };
      const failed = checks.flatMap(({ name, ok, message }) => (ok ? [] : [`${name}: ${message ?? "no"}`]));
      return { ok: false, message: failed.length === 0 ? "turnd does not answer" : failed.join("; ") };
    },
    async close() {
      closing.abort();
      await starting?.catch(() => undefined);
      await watching;
      if (current !== undefined) await stopChild(dataDirectory, current.child.pid, options.stopMs);
    },
  };
}

/** How its turnd is started; what an earlier process of the service has started is compared with it. */
export function childOptionsOf(options: Omit<EmbeddedOptions, "storage" | "logger">): ChildOptions {
  const { dataDirectory } = options;
  return {
    dataDirectory,
    command: options.command,
    startMs: options.startMs,
    stopMs: options.stopMs,
    tokenOf: (generation) => sandboxToken(options.sandboxSecret, SCOPE, generation),
    env: {
      ...withoutOurs(options.env),
      TURND_STATE_DIR: join(dataDirectory, "turnd"),
      TURND_WORKSPACE: join(dataDirectory, "workspaces", "default"),
      TURND_WORKSPACE_ROOTS: join(dataDirectory, "workspaces"),
      TURND_MAX_TURNS: String(options.maxTurns),
      // Sessions end with their threads: turnd never deletes one by itself.
      TURND_MAX_QUEUED: "10000",
    },
  };
}

/** The CLIs' environment must hold nothing that is the service's: its secrets, its database. */
function withoutOurs(env: Readonly<Record<string, string | undefined>>): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name]) =>
        !/^(SERVICE_|SVC_|TURND_(HOST|PORT|TOKEN|STATE_DIR|WORKSPACE|WORKSPACE_ROOTS)$|DATABASE_URL(_FILE)?$|PG[A-Z]+$|npm_)/.test(
          name,
        ),
    ),
  );
}
