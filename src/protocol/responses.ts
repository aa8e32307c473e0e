import * as z from "zod";
import { ExecutorInfo } from "./executors.ts";
import { SandboxInfo } from "./sandbox.ts";
import { Session } from "./sessions.ts";
import { TurnSnapshot } from "./turns.ts";

export const TurnList = z.strictObject({ turns: z.array(TurnSnapshot) }).meta({ id: "TurnList" });
export type TurnList = z.infer<typeof TurnList>;

export const SessionList = z.strictObject({ sessions: z.array(Session) }).meta({ id: "SessionList" });
export type SessionList = z.infer<typeof SessionList>;

export const ExecutorList = z.strictObject({ executors: z.array(ExecutorInfo) }).meta({ id: "ExecutorList" });
export type ExecutorList = z.infer<typeof ExecutorList>;

/** The description of the sandbox, in the envelope that clients of the AIO sandbox already read. */
export const SandboxEnvelope = z
  .strictObject({ success: z.boolean(), message: z.string(), data: SandboxInfo })
  .meta({ id: "SandboxEnvelope" });
export type SandboxEnvelope = z.infer<typeof SandboxEnvelope>;

/** That the daemon answers; `/v1/ready` reports whether a turn could run. */
export const Health = z
  .strictObject({ status: z.literal("ok"), version: z.string(), uptime_ms: z.int().nonnegative() })
  .meta({ id: "Health" });
export type Health = z.infer<typeof Health>;

/** A field of an event that was cut; `bytes` is its original UTF-8 length (of its JSON, when it is no string). */
export const Truncated = z.strictObject({ field: z.string(), bytes: z.int().nonnegative() }).meta({ id: "Truncated" });
export type Truncated = z.infer<typeof Truncated>;

/** An event as served with `verbose=false`: a LoggedEvent without `native`, at most 64 KiB as a frame. */
export const SlimEvent = z
  .looseObject({
    v: z.literal(1),
    seq: z.int().positive(),
    at: z.string(),
    turn_id: z.string(),
    session_id: z.string(),
    executor: z.string(),
    type: z.string(),
    data: z.record(z.string(), z.unknown()),
    truncated: z.array(Truncated).optional(),
  })
  .meta({ id: "SlimEvent" });
export type SlimEvent = z.infer<typeof SlimEvent>;
