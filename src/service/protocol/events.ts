import { z } from "zod";

/** The types of a run's events. Closed list; `docs/service-reference.md` is made from it. */
export const RunEventType = z
  .enum(["metadata", "messages", "custom", "interrupt", "error", "end"])
  .meta({ id: "RunEventType" });
export type RunEventType = z.infer<typeof RunEventType>;

export type Payload = Readonly<Record<string, unknown>>;

/** An event before it has a number. `native` is its position in the turn. */
export interface NewRunEvent {
  readonly event: RunEventType;
  readonly payload: Payload;
  readonly native?: Payload | undefined;
}

/** An event as it is sent. */
export const RunEvent = z
  .strictObject({
    schema_version: z.literal(1),
    seq: z.int(),
    run_id: z.string(),
    thread_id: z.string(),
    request_id: z.string(),
    event: RunEventType,
    created_at: z.string(),
    payload: z.record(z.string(), z.unknown()),
    native: z.record(z.string(), z.unknown()).optional(),
    truncated: z.array(z.string()).optional(),
  })
  .meta({ id: "RunEvent" });
export type RunEvent = z.infer<typeof RunEvent>;

export const EventPage = z
  .strictObject({ events: z.array(RunEvent), last_seq: z.int(), has_more: z.boolean(), ended: z.boolean() })
  .meta({ id: "EventPage" });
