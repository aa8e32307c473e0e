import * as z from "zod";
import { ExecutorInfo } from "./executors.ts";
import { SandboxInfo } from "./sandbox.ts";
import { Session } from "./sessions.ts";
import { TurnSnapshot } from "./turns.ts";

const NextCursor = z.string().optional().meta({ description: "`cursor` of the next page; absent on the last one." });

export const TurnList = z
  .strictObject({ turns: z.array(TurnSnapshot).describe("Newest first."), next_cursor: NextCursor })
  .meta({ id: "TurnList", description: "Turns." });
export type TurnList = z.infer<typeof TurnList>;

export const SessionList = z
  .strictObject({ sessions: z.array(Session).describe("Newest first."), next_cursor: NextCursor })
  .meta({ id: "SessionList", description: "Sessions." });
export type SessionList = z.infer<typeof SessionList>;

export const ExecutorList = z
  .strictObject({ executors: z.array(ExecutorInfo).describe("One for each CLI that turnd drives.") })
  .meta({ id: "ExecutorList", description: "Executors." });
export type ExecutorList = z.infer<typeof ExecutorList>;

/** How clients of the AIO sandbox are answered. */
export const ENVELOPE = {
  success: z.boolean().describe("Always true: what cannot be answered is a problem."),
  message: z.string().describe("`ok`, or what to know of the answer."),
};

/** The description of the sandbox, in the envelope that clients of the AIO sandbox already read. */
export const SandboxEnvelope = z
  .strictObject({ ...ENVELOPE, data: SandboxInfo })
  .meta({ id: "SandboxEnvelope", description: "The sandbox, in the envelope that clients of the AIO sandbox read." });
export type SandboxEnvelope = z.infer<typeof SandboxEnvelope>;

/** That the daemon answers; `/v1/ready` reports whether a turn could run. */
export const Health = z
  .strictObject({
    status: z.literal("ok").describe("Always this: an answer is the proof."),
    version: z.string().describe("turnd's version."),
    uptime_ms: z.int().nonnegative().describe("Time since turnd started."),
  })
  .meta({ id: "Health", description: "That the daemon answers." });
export type Health = z.infer<typeof Health>;

/** A field of an event that was cut; `bytes` is its original UTF-8 length (of its JSON, when it is no string). */
export const Truncated = z
  .strictObject({
    field: z.string().describe("Path of the field in `data`."),
    bytes: z.int().nonnegative().describe("Its whole length in bytes of UTF-8, of its JSON where it is no string."),
  })
  .meta({ id: "Truncated", description: "A field of an event that was cut." });
export type Truncated = z.infer<typeof Truncated>;

/** An event as served with `verbose=false`: a LoggedEvent without `native`, at most 64 KiB as a frame. */
export const SlimEvent = z
  .looseObject({
    v: z.literal(1).describe("Version of the form of events."),
    seq: z.int().positive().describe("Starts at 1 in each turn and has no gaps."),
    at: z.string().describe("When it was logged, UTC."),
    turn_id: z.string().describe("The turn it belongs to."),
    session_id: z.string().describe("The session of that turn."),
    executor: z.string().describe("The CLI it comes from."),
    type: z.string().describe("What kind of event it is."),
    data: z.record(z.string(), z.unknown()).describe("What the event of this type carries, long fields cut."),
    truncated: z.array(Truncated).optional().describe("The fields that were cut."),
  })
  .meta({ id: "SlimEvent", description: "An event as served with `verbose=false`: without `native`, at most 64 KiB." });
export type SlimEvent = z.infer<typeof SlimEvent>;
