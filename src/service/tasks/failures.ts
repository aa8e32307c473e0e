import type { TaskError } from "../protocol/tasks.ts";

/** Ends a task as failed; thrown by handlers that have a reason. Every other fault is one more attempt. */
export class TaskFailure extends Error {
  readonly error: TaskError;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TaskFailure";
    this.error = { code, message };
  }
}

/** Why a handler's signal aborts when its task was cancelled. */
export class TaskCancelled extends Error {
  constructor() {
    super("the task was cancelled");
    this.name = "TaskCancelled";
  }
}

/** Another attempt owns the task, or it has ended: this one stops without an error. Law: one owner writes. */
export class TaskOwnershipLost extends Error {
  constructor(taskId: string) {
    super(`task ${taskId} is another attempt's now`);
    this.name = "TaskOwnershipLost";
  }
}

/** Thrown by a handler that has stopped where the next attempt goes on: another task waits for its place. */
export class TaskTurnOver extends Error {
  constructor() {
    super("another task waits for this place");
    this.name = "TaskTurnOver";
  }
}
