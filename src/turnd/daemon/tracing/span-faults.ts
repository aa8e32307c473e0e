import { diag, DiagLogLevel } from "@opentelemetry/api";
import type { Logger } from "pino";

/** A receiver that is down fails every few seconds. */
const QUIET_MS = 60_000;
const MAX_MESSAGE = 300;

/** Makes the log of what goes wrong with spans: one line a minute, with how many others there were. */
export function createFaultLog(logger: Logger, now: () => number = () => performance.now()): (message: string) => void {
  let quietUntil = -Infinity;
  let omitted = 0;
  return (message) => {
    if (now() < quietUntil) {
      omitted += 1;
      return;
    }
    quietUntil = now() + QUIET_MS;
    logger.warn({ reason: message.slice(0, MAX_MESSAGE), ...(omitted === 0 ? {} : { omitted }) }, "fault with spans");
    omitted = 0;
  };
}

/** Has the SDK's own warnings reported, such as a sampler that it does not know. */
export function listenToSdk(report: (message: string) => void): void {
  const ignore = (): void => {};
  // The first part is mostly which part of the SDK it is.
  const tell = (...parts: readonly unknown[]): void => report(parts.map(textOf).join(" "));
  diag.setLogger(
    { error: tell, warn: tell, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function textOf(part: unknown): string {
  if (typeof part === "string") return part;
  return part instanceof Error ? part.message : (JSON.stringify(part) ?? "");
}
