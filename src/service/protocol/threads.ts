import { z } from "zod";
import { Id, jsonObject, Page, Time } from "./common.ts";

/** What the queue of a thread is; derived from rows. */
export const QueueStatus = z.enum(["idle", "running", "interrupted", "paused", "ready"]).meta({ id: "QueueStatus" });
export type QueueStatus = z.infer<typeof QueueStatus>;

const Metadata = jsonObject(16_384);
const Title = z.string().max(255);

export const Thread = z
  .strictObject({
    id: z.string(),
    agent_id: z.string().meta({ description: "The agent's slug." }),
    title: z.string(),
    metadata: z.record(z.string(), z.unknown()),
    is_pinned: z.boolean(),
    status: QueueStatus,
    created_at: Time,
    updated_at: Time,
  })
  .meta({ id: "Thread" });
export type Thread = z.infer<typeof Thread>;

export const CreateThreadBody = z
  .strictObject({
    agent_id: z.string().min(1).max(64).meta({ description: "The agent's slug." }),
    title: Title.default(""),
    metadata: Metadata.default({}),
    request_id: Id.optional(),
  })
  .meta({ id: "CreateThreadBody" });
export const UpdateThreadBody = z
  .strictObject({ title: Title.optional(), metadata: Metadata.optional(), is_pinned: z.boolean().optional() })
  .meta({ id: "UpdateThreadBody" });
export type UpdateThreadBody = z.infer<typeof UpdateThreadBody>;

export const ThreadPath = z.strictObject({ thread_id: Id });
export const ThreadListQuery = z.strictObject({
  ...Page,
  agent_id: z.string().max(64).optional(),
  q: z.string().max(200).optional(),
});
export const ThreadList = z.strictObject({ threads: z.array(Thread), total: z.int() }).meta({ id: "ThreadList" });

export const QueueView = z
  .strictObject({
    status: QueueStatus,
    paused_reason: z.enum(["run_failed", "run_cancelled"]).nullable(),
    blocking_run_id: z.string().nullable(),
    can_continue: z.boolean(),
  })
  .meta({ id: "QueueView" });
export type QueueView = z.infer<typeof QueueView>;

export const HistoryQuery = z.strictObject({
  before: z.uuid().optional().meta({ description: "A run: only messages before it." }),
  limit: Page.limit.meta({ description: "Messages; those of one run are never parted, so 1 may give both of one." }),
});
export const History = z
  .strictObject({
    messages: z.array(
      z.strictObject({
        role: z.enum(["user", "assistant"]),
        content: z.string(),
        run_id: z.string(),
        request_id: z.string(),
        status: z.string(),
        created_at: Time,
      }),
    ),
  })
  .meta({ id: "History" });
export type History = z.infer<typeof History>;
