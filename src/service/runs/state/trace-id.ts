/** What logs and events of a run name of the trace that its request belongs to: nothing where it belongs to none. */
export function traceFields(traceparent: string | null | undefined): { trace_id?: string } {
  const traceId = traceparent?.split("-")[1];
  return traceId === undefined ? {} : { trace_id: traceId };
}
