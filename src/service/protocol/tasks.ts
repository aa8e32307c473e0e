import { z } from "zod";
import { Page, Time, Uuid } from "./common.ts";

export const TaskStatus = z.enum(["pending", "running", "success", "failed", "cancelled"]).meta({ id: "TaskStatus" });
export type TaskStatus = z.infer<typeof TaskStatus>;

/** Why a task failed; `code` is `attempts_exhausted`, `timed_out`, `payload_invalid` or one of the kind's own. */
export const TaskError = z.strictObject({ code: z.string(), message: z.string() }).meta({ id: "TaskError" });
export type TaskError = z.infer<typeof TaskError>;

export const Task = z
  .strictObject({
    id: Uuid,
    kind: z.string(),
    name: z.string(),
    user_id: z.int().nullable(),
    status: TaskStatus,
    progress: z.int().min(0).max(100),
    message: z.string(),
    cancel_requested: z.boolean(),
    result: z.unknown(),
    error: TaskError.nullable(),
    created_at: Time,
    started_at: Time.nullable(),
    completed_at: Time.nullable(),
    updated_at: Time,
  })
  .meta({ id: "Task" });
export type Task = z.infer<typeof Task>;

export const TaskAnswer = z.strictObject({ task: Task }).meta({ id: "TaskAnswer" });
export const TaskList = z.strictObject({ tasks: z.array(Task), total: z.int() }).meta({ id: "TaskList" });
export const TaskListQuery = z.strictObject({
  kind: z.string().max(100).optional(),
  status: TaskStatus.optional(),
  ...Page,
});
export const TaskPath = z.strictObject({ task_id: z.string().max(64) });
