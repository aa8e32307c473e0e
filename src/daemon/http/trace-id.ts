/**
 * The trace a request belongs to, from its `traceparent` header; undefined when there is none or it is malformed.
 *
 * @see W3C Trace Context, section 3.2: an invalid header is ignored, and a later version is read like version 00
 */
export function readTraceId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  const match = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/.exec(header.trim());
  const [, traceId, parentId] = match ?? [];
  return /^0+$/.test(traceId ?? "0") || /^0+$/.test(parentId ?? "0") ? undefined : traceId;
}
