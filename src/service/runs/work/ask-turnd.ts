import { setTimeout as delay } from "node:timers/promises";
import { backoffMs } from "../../../kit/retry/backoff.ts";
import { isPassingStatus } from "../../../kit/retry/passing-status.ts";
import { TurndProtocolError, TurndUnreachable } from "../../../turnd/client/errors.ts";
import { ProblemError } from "../../../turnd/protocol/index.ts";
import { SandboxUnavailable } from "../../sandboxes/sandboxes.ts";
import { RunFailure } from "../state/failures.ts";

/** How long an attempt waits for turnd, and how the wait is reported. */
export interface RetryOptions {
  /** Nothing of turnd for so long ends the run. */
  readonly lostAfterMs: number;
  readonly signal: AbortSignal;
  /** Called before each wait with what the run waits for. */
  onWaiting(reason: string): Promise<void>;
  /** Aborts when the run is cancelled; has an effect only while no turn can be under way. */
  readonly cancelled: AbortSignal;
}

const WAITS = { firstMs: 1_000, longestMs: 30_000 };

/**
 * Asks turnd until it does it, or refuses for good.
 *
 * @param mayBeAdmitted - whether a turn may be under way: what its loss is called depends on it
 * @param ask - gets a signal that ends it; what must not be left half done, such as a turn's POST, takes `retry.signal`
 * @throws {RunFailure}
 * @throws {CancelledBeforeTurn} as soon as the run is cancelled and no turn can be under way
 */
export async function retryUntilDone<T>(
  retry: RetryOptions,
  mayBeAdmitted: () => boolean,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const beganAt = performance.now();
  const untilCancelled = AbortSignal.any([retry.signal, retry.cancelled]);
  const signalNow = (): AbortSignal => (mayBeAdmitted() ? retry.signal : untilCancelled);
  for (let tries = 0; ; tries += 1) {
    signalNow().throwIfAborted();
    let fault: unknown;
    try {
      return await ask(signalNow());
    } catch (error) {
      fault = error;
    }
    signalNow().throwIfAborted();
    const reason = waitingReason(fault, mayBeAdmitted());
    if (reason === undefined) throw explainRefusal(fault, mayBeAdmitted());
    if (performance.now() - beganAt >= retry.lostAfterMs) {
      throw givenUp(fault, retry.lostAfterMs, mayBeAdmitted());
    }
    await retry.onWaiting(reason);
    const waitMs = backoffMs(WAITS, tries);
    // An abort ends the wait; the loop looks at what it means.
    await delay(Math.min(waitMs, retry.lostAfterMs), undefined, { signal: signalNow() }).catch(() => undefined);
  }
}

/** Why it is worth asking again; undefined: it is not. */
function waitingReason(fault: unknown, mayBeAdmitted: boolean): string | undefined {
  if (fault instanceof TurndUnreachable) return "executor_unreachable";
  // A run with a turn waits for its turnd to come back; one without waits for a place or for the engine, and may be sent
  // again otherwise.
  if (fault instanceof SandboxUnavailable) {
    const isPassing = fault.reason === "sandbox_limit" || fault.reason === "executor_unreachable";
    return mayBeAdmitted || isPassing ? fault.reason : undefined;
  }
  // One answer that cannot be read does not end a turn that may be under way.
  if (fault instanceof TurndProtocolError) return mayBeAdmitted ? "executor_unreachable" : undefined;
  if (!(fault instanceof ProblemError)) return undefined;
  return isPassingStatus(fault.status) ? fault.code : undefined;
}

/** What a refusal for good means to the run. */
export function explainRefusal(fault: unknown, mayBeAdmitted: boolean): unknown {
  if (fault instanceof SandboxUnavailable)
    return mayBeAdmitted
      ? new RunFailure("executor_lost", `${fault.message}; what the turn may have done has happened`)
      : new RunFailure(fault.reason, fault.message);
  if (fault instanceof TurndProtocolError)
    return new RunFailure(mayBeAdmitted ? "executor_lost" : "unknown", fault.message);
  if (fault instanceof TurndUnreachable)
    return new RunFailure(mayBeAdmitted ? "executor_lost" : "executor_unreachable", fault.message);
  if (!(fault instanceof ProblemError)) return fault;
  const refusal = `turnd refused: ${fault.code}: ${fault.message}`;
  switch (fault.code) {
    case "unauthorized":
      return new RunFailure("executor_unauthorized", refusal);
    case "storage_full":
      return new RunFailure("storage_error", refusal);
    case "request_id_conflict":
    case "turn_not_found":
    case "request_not_found":
    case "session_not_found":
      return new RunFailure("executor_lost", `${refusal}; what the turn may have done has happened`);
    default:
      return new RunFailure("invalid_request", refusal);
  }
}

function givenUp(fault: unknown, ms: number, mayBeAdmitted: boolean): RunFailure {
  if (fault instanceof SandboxUnavailable && !mayBeAdmitted)
    return new RunFailure(fault.reason, `${fault.message}, for ${ms} ms`);
  const why = fault instanceof Error ? fault.message : String(fault);
  if (!mayBeAdmitted) return new RunFailure("executor_unreachable", `turnd took no turn for ${ms} ms: ${why}`);
  return new RunFailure(
    "executor_lost",
    `no answer about the turn for ${ms} ms: ${why}; what it may have done has happened`,
  );
}
