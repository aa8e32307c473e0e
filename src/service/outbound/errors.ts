/** Why an address is not asked at all. */
export type RefusalReason =
  | "malformed"
  | "scheme"
  | "user_info"
  | "port"
  | "host_not_allowed"
  | "address"
  | "too_many_redirects"
  | "too_large";

/** Why asking came to nothing. */
export type OutboundFailureReason = "dns" | "connect" | "tls" | "timeout";

/** An address that users gave is not reached: a rule forbids it. Never contains what was found there. */
export class OutboundRefused extends Error {
  readonly reason: RefusalReason;

  constructor(reason: RefusalReason, message: string) {
    super(message);
    this.name = "OutboundRefused";
    this.reason = reason;
  }
}

/** An address that may be reached gave no answer. */
export class OutboundFailed extends Error {
  readonly reason: OutboundFailureReason;

  constructor(reason: OutboundFailureReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OutboundFailed";
    this.reason = reason;
  }
}

/** What a fault of the connection means. Source: undici 7.30 `lib/core/errors.js`, Node's names of TLS faults. */
export function explainFault(error: unknown, signal: AbortSignal): OutboundFailed | OutboundRefused {
  if (error instanceof OutboundFailed || error instanceof OutboundRefused) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (signal.aborted || /TIMEOUT|ETIMEDOUT/.test(code)) {
    return new OutboundFailed("timeout", "no answer came in time", { cause: error });
  }
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_/.test(code)) {
    return new OutboundFailed("tls", `the secure connection failed (${code})`, { cause: error });
  }
  const detail = code === "" ? "" : ` (${code})`;
  return new OutboundFailed("connect", `the connection failed${detail}`, { cause: error });
}
