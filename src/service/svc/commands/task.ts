import { Task } from "../answers.ts";
import { readAnswer } from "../client.ts";
import type { Context } from "../context.ts";
import type { ExitCode } from "../exit-codes.ts";
import { safeLine } from "../../../kit/command-line/text.ts";
import { waitForTask } from "../wait-for-task.ts";

/** Shows a task. */
export async function showTask({ client, terminal }: Context, id: string): Promise<void> {
  const answer = await (await client()).call({ method: "GET", path: `/api/tasks/${encodeURIComponent(id)}` });
  terminal.text(describeTask(readAnswer(Task, answer).task));
  terminal.json(answer);
}

/** Waits for a task's end. */
export async function waitTask(context: Context, id: string): Promise<ExitCode> {
  return waitForTask(context, await context.client(), id);
}

/** Asks for a task's end; safe to repeat. */
export async function cancelTask({ client, terminal }: Context, id: string): Promise<void> {
  const path = `/api/tasks/${encodeURIComponent(id)}/cancel`;
  const answer = await (await client()).call({ method: "POST", path, isRepeatable: true });
  terminal.text(describeTask(readAnswer(Task, answer).task));
  terminal.json(answer);
}

function describeTask(task: ReturnType<typeof Task.parse>["task"]): string {
  const rows = [
    ["task", task.id],
    ["name", task.name],
    ["kind", task.kind],
    ["status", task.cancel_requested && task.completed_at === null ? `${task.status}, to be cancelled` : task.status],
    ["progress", `${Math.floor(task.progress)} %`],
    ["message", task.message],
    ["error", task.error === null ? "" : `${task.error.message} (${task.error.code})`],
    ["created", task.created_at],
    ["ended", task.completed_at ?? ""],
  ];
  return rows
    .filter(([, value]) => value !== "")
    .map(([name = "", value = ""]) => `${name.padEnd(9)} ${safeLine(value)}`)
    .join("\n");
}
