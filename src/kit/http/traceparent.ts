/** A version 00 header; later versions may go on after a dash. */
const FIELDS = /^(?!ff)([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/**
 * The `traceparent` of a call, as version 00; undefined when there is none or it is not valid.
 *
 * @see W3C Trace Context, section 3.2: an invalid header is ignored, and a later version is read like version 00
 */
export function readTraceparent(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  const [, version, traceId = "", parentId = "", flags, rest] = FIELDS.exec(header.trim()) ?? [];
  if (version === undefined || (version === "00" && rest !== undefined)) return undefined;
  if (/^0*$/.test(traceId) || /^0*$/.test(parentId)) return undefined;
  return `00-${traceId}-${parentId}-${flags}`;
}
