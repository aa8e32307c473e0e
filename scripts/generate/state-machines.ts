import { RequestStatus, RunStatus } from "../../src/service/protocol/runs.ts";
import { TaskStatus } from "../../src/service/protocol/tasks.ts";
import { Delivery } from "../../src/service/protocol/webhooks.ts";

/** One step of a state machine. */
export interface Transition {
  /** Absent: the row is made in this state. */
  readonly from?: string;
  readonly to: string;
  readonly by: string;
  readonly when: string;
}

/**
 * What the rows of a table may become. `docs/states.md` is made from these, and a test compares them with every change of
 * a status that the database records while runs are played.
 *
 * They drive no write. Each step is one statement whose condition names the states it leaves (law: one owner writes), so
 * that the row decides between two processes; a table in one process's memory would repeat that and decide nothing.
 */
export interface StateMachine {
  readonly table: string;
  readonly title: string;
  readonly states: readonly string[];
  readonly transitions: readonly Transition[];
}

const REQUEST: StateMachine = {
  table: "run_request",
  title: "A request",
  states: RequestStatus.options,
  transitions: [
    { to: "queued", by: "intake", when: "accepted; on an idle thread it is dispatched in the same transaction" },
    { to: "rejected", by: "intake", when: "the thread is busy and the policy is `reject`" },
    { from: "queued", to: "dispatched", by: "intake, finish, continue", when: "it is the head and no run blocks" },
    { from: "queued", to: "cancelled", by: "its user", when: "not a steer that turnd has" },
    { from: "queued", to: "failed", by: "dispatch", when: "its agent or model may not be used any more" },
  ],
};

const RUN: StateMachine = {
  table: "run",
  title: "A run",
  states: RunStatus.options,
  transitions: [
    { to: "pending", by: "dispatch", when: "with its job, in one transaction" },
    { from: "pending", to: "running", by: "attempt", when: "claim" },
    { from: "pending", to: "cancelled", by: "its user", when: "before any attempt" },
    { from: "pending", to: "failed", by: "attempt", when: "claim finds the attempts exhausted" },
    { from: "pending", to: "cancel_requested", by: "its user", when: "cancel after an attempt has begun" },
    { from: "running", to: "cancel_requested", by: "its user", when: "cancel" },
    { from: "running", to: "completed", by: "attempt", when: "its turn completed, or was ended by a steer" },
    {
      from: "running",
      to: "failed",
      by: "attempt",
      when: "its turn failed; no turnd; three attempts that did nothing",
    },
    { from: "running", to: "cancelled", by: "attempt", when: "its turn was cancelled" },
    { from: "running", to: "interrupted", by: "attempt", when: "its turn made a plan that needs approval" },
    {
      from: "cancel_requested",
      to: "cancelled",
      by: "attempt",
      when: "its turn ended as cancelled, or never began; its turnd is lost",
    },
    { from: "cancel_requested", to: "completed", by: "attempt", when: "its turn completed before the cancel" },
    {
      from: "cancel_requested",
      to: "failed",
      by: "attempt",
      when: "its turn failed before the cancel",
    },
    { from: "cancel_requested", to: "interrupted", by: "attempt", when: "its plan was complete before the cancel" },
  ],
};

const TASK: StateMachine = {
  table: "task",
  title: "A task",
  states: TaskStatus.options,
  transitions: [
    { to: "pending", by: "a caller", when: "with its job, in one transaction" },
    { from: "pending", to: "running", by: "attempt", when: "claim" },
    { from: "pending", to: "cancelled", by: "its user", when: "cancel before any attempt" },
    { from: "running", to: "success", by: "attempt", when: "its handler returns" },
    {
      from: "running",
      to: "failed",
      by: "attempt",
      when: "its handler fails or times out; three attempts did nothing",
    },
    { from: "running", to: "cancelled", by: "attempt", when: "its handler stops after a cancel" },
  ],
};

const DELIVERY: StateMachine = {
  table: "webhook_delivery",
  title: "A delivery of a webhook",
  states: Delivery.shape.status.options,
  transitions: [
    { to: "pending", by: "finish", when: "a run ends, in its transaction" },
    { from: "pending", to: "delivered", by: "deliver", when: "an answer of 2xx" },
    {
      from: "pending",
      to: "failed",
      by: "deliver",
      when: "the last attempt failed; an answer of 410; the webhook is disabled",
    },
  ],
};

/** Every table whose rows have a status that a client sees. */
export const STATE_MACHINES: readonly StateMachine[] = [REQUEST, RUN, TASK, DELIVERY];
