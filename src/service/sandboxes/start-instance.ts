import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { connectTurnd } from "./connect-turnd.ts";
import { sandboxToken } from "../auth/derive.ts";
import type { Storage } from "../storage/storage.ts";
import { orAborted } from "./or-aborted.ts";
import type { InstanceName, SandboxEngine } from "./sandbox-engine.ts";
import { moveRow, type SandboxRow, startFailures } from "./sandbox-rows.ts";

export interface StartOptions {
  readonly storage: Storage;
  readonly engine: SandboxEngine;
  readonly logger: Logger;
  readonly sandboxSecret: string;
  readonly startMs: number;
  /** Gives the start up; it has not failed then. */
  readonly signal: AbortSignal;
}

const POLL_MS = 200;
const LAST_LINES_MS = 5_000;
const HALT_MS = 30_000;
const TAIL_CHARACTERS = 2_000;
const MINUTE = 60_000;
/** After the third failure in a row and on: what it broke on has to be put right by a person. */
const WAITS_MS = [0, 0, MINUTE, 5 * MINUTE, 15 * MINUTE] as const;
/** What is longer was set before the clock went back. */
export const LONGEST_WAIT_MS: number = Math.max(...WAITS_MS);

/** Starts the generation that a row in `starting` names, and moves the row to what came of it. Never throws. */
export async function startInstance(options: StartOptions, row: SandboxRow): Promise<void> {
  const { storage, engine, logger } = options;
  const name = { id: row.id, generation: row.generation };
  const beganAt = performance.now();
  try {
    const address = await launchAndWait(options, name);
    if ((await moveRow(storage.db, row, { state: "ready", address, error: null, isUse: true })) === undefined) {
      // Stopped or removed meanwhile.
      await engine.halt(name);
      return;
    }
    logger.info(
      { sandboxId: row.id, generation: row.generation, durationMs: performance.now() - beganAt },
      "sandbox is ready",
    );
  } catch (error) {
    await noteFailure(options, row, error).catch((fault: unknown) =>
      logger.error({ err: fault, sandboxId: row.id }, "a sandbox's failed start was not written"),
    );
  }
}

async function launchAndWait(options: StartOptions, name: InstanceName): Promise<string> {
  const { engine, startMs } = options;
  const limit = AbortSignal.timeout(startMs);
  const signal = AbortSignal.any([limit, options.signal]);
  try {
    const token = sandboxToken(options.sandboxSecret, name.id, name.generation);
    const address = await orAborted(engine.launch(name, token, signal), signal);
    const client = connectTurnd({ baseUrl: address, token });
    for (;;) {
      const answer = await client.ready({ signal }).catch(() => undefined);
      signal.throwIfAborted();
      if (answer?.ready === true) return address;
      if (answer === undefined && (await engine.find(name)) === undefined) throw new Error("it ended at its start");
      await delay(POLL_MS, undefined, { signal });
    }
  } catch (error) {
    if (limit.aborted && !options.signal.aborted)
      throw new Error(`it was not ready within ${startMs} ms`, { cause: error });
    throw error;
  }
}

async function noteFailure(
  { storage, engine, logger, signal }: StartOptions,
  row: SandboxRow,
  fault: unknown,
): Promise<void> {
  const name = { id: row.id, generation: row.generation };
  const lines = signal.aborted
    ? ""
    : await orAborted(engine.lastLines(name), AbortSignal.timeout(LAST_LINES_MS)).catch(() => "");
  // What is left then the sweep ends: no row allows it to run.
  await orAborted(engine.halt(name), AbortSignal.timeout(HALT_MS)).catch((error: unknown) =>
    logger.warn({ err: error, sandboxId: row.id }, "sandbox not stopped"),
  );
  if (signal.aborted) {
    await moveRow(storage.db, row, { state: "stopped" });
    return;
  }
  const isAway = isUnreachable(fault);
  const failures = (startFailures(row)?.failures ?? 0) + (isAway ? 0 : 1);
  const waitMs = isAway ? 0 : (WAITS_MS[Math.min(failures, WAITS_MS.length) - 1] ?? 0);
  const text = fault instanceof Error ? fault.message : String(fault);
  const reason = isAway ? `the sandbox engine does not answer: ${text}` : text;
  const message = lines === "" ? reason : `${reason}: ${lines.slice(-TAIL_CHARACTERS)}`;
  const error = { message, failures, retry_at: new Date(Date.now() + waitMs).toISOString(), is_engine_away: isAway };
  logger.error(
    { err: fault, sandboxId: row.id, generation: row.generation, failures, waitMs },
    "sandbox did not start",
  );
  await moveRow(storage.db, row, { state: "failed", error });
}

/** What the system and its resolver call a connection that was not made, or that broke. */
const CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  // The socket of an engine that does not run.
  "ENOENT",
]);

/** Whether an engine was not reached at all: that does not show whether the sandbox runs. */
function isUnreachable(fault: unknown): boolean {
  for (let error = fault; error instanceof Error; error = error.cause) {
    if ("code" in error && typeof error.code === "string" && CODES.has(error.code)) return true;
  }
  return false;
}
