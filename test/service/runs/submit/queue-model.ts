import type { QueuePolicy } from "../../../../src/service/protocol/runs.ts";

export type ModelPolicy = QueuePolicy;
type Ending = "completed" | "failed" | "cancelled" | "interrupted";

export interface ModelRequest {
  readonly id: string;
  isSteer: boolean;
  kind: "chat" | "resume";
  status: "queued" | "dispatched" | "rejected" | "cancelled";
  target?: string | undefined;
  isAssigned: boolean;
  run?: { status: Ending | "pending" | "running" | "cancel_requested"; isReleased: boolean };
}

/** The queue of one thread by the design's tables, in memory. Each method answers what the caller sees: a status or a code. */
export class QueueModel {
  readonly requests: ModelRequest[] = [];
  readonly dispatched: string[] = [];
  lastEnded: Ending | undefined;

  get(id: string): ModelRequest | undefined {
    return this.requests.find((each) => each.id === id);
  }

  blocking(): ModelRequest | undefined {
    return this.requests.find(({ run }) => {
      if (run === undefined) return false;
      return run.status === "interrupted"
        ? !run.isReleased
        : ["pending", "running", "cancel_requested"].includes(run.status);
    });
  }

  waiting(): ModelRequest[] {
    const queued = this.requests.filter(({ status }) => status === "queued");
    return [...queued.filter(({ isSteer }) => isSteer), ...queued.filter(({ isSteer }) => !isSteer)];
  }

  view(): string {
    const status = this.blocking()?.run?.status;
    if (status !== undefined) return status === "interrupted" ? "interrupted" : "running";
    if (this.waiting().length === 0) return "idle";
    return this.lastEnded === "failed" || this.lastEnded === "cancelled" ? "paused" : "ready";
  }

  submit(id: string, policy: ModelPolicy): string {
    const blocking = this.blocking();
    if (blocking?.run?.status === "interrupted") return "run_interrupted";
    const isBusy = blocking !== undefined || this.waiting().length > 0;
    const request: ModelRequest = {
      id,
      isSteer: policy === "steer",
      kind: "chat",
      status: "queued",
      isAssigned: false,
    };
    if (isBusy && policy === "steer") {
      if (!canBeSteered(blocking)) return "run_not_steerable";
      if (this.waiting().some(({ isSteer }) => isSteer)) return "steer_already_pending";
      request.target = blocking?.id;
    }
    if (isBusy && policy === "reject") request.status = "rejected";
    this.requests.push(request);
    if (!isBusy) this.dispatch(request);
    return request.status;
  }

  resume(id: string, parent: ModelRequest): string {
    if (parent.run?.status !== "interrupted") return "run_not_interrupted";
    if (parent.run.isReleased) return "resume_superseded";
    parent.run.isReleased = true;
    const request: ModelRequest = { id, isSteer: false, kind: "resume", status: "queued", isAssigned: false };
    this.requests.push(request);
    this.dispatch(request);
    return request.status;
  }

  promote(request: ModelRequest): string {
    if (request.status !== "queued") return "request_not_queued";
    if (request.isSteer) return "queued";
    const blocking = this.blocking();
    if (!canBeSteered(blocking)) return "run_not_steerable";
    if (this.waiting().some(({ isSteer }) => isSteer)) return "steer_already_pending";
    request.isSteer = true;
    request.target = blocking?.id;
    return "queued";
  }

  cancelRequest(request: ModelRequest): string {
    if (request.status === "dispatched") return "request_already_dispatched";
    if (request.status !== "queued") return request.status;
    const target = request.target === undefined ? undefined : this.get(request.target);
    if (target !== undefined && target === this.blocking()) return "steer_in_progress";
    request.status = "cancelled";
    return "cancelled";
  }

  cancelRun({ run, ...request }: ModelRequest): void {
    if (run === undefined) return;
    if (run.status === "interrupted" && !run.isReleased) {
      run.isReleased = true;
      this.dispatchHead();
    } else if (run.status === "pending" && !request.isAssigned) {
      this.end(request.id, "cancelled");
    } else if (run.status === "pending" || run.status === "running") run.status = "cancel_requested";
  }

  continueThread(): string {
    const view = this.view();
    if (view === "interrupted") return "run_interrupted";
    if (view === "running") return "run_active";
    if (view === "idle") return "queue_empty";
    this.dispatchHead();
    return "dispatched";
  }

  end(id: string, found: Ending): void {
    const run = this.get(id)?.run;
    if (run === undefined) throw new Error(`${id} has no run`);
    // Who has cancelled it expects it cancelled, also where its turn was lost.
    const ending = run.status === "cancel_requested" && found === "failed" ? "cancelled" : found;
    run.status = ending;
    this.lastEnded = ending;
    const assigned = this.waiting().find(({ target, isAssigned }) => target === id && isAssigned);
    // A steer on its way answers what an interrupted run asks.
    if (assigned !== undefined) run.isReleased = ending === "interrupted";
    if (assigned !== undefined) this.dispatch(assigned);
    else if (ending === "completed") this.dispatchHead();
  }

  private dispatchHead(): void {
    const [head] = this.waiting();
    if (head !== undefined) this.dispatch(head);
  }

  private dispatch(request: ModelRequest): void {
    request.status = "dispatched";
    request.run = { status: "pending", isReleased: false };
    this.dispatched.push(request.id);
  }
}

function canBeSteered(blocking: ModelRequest | undefined): boolean {
  return blocking?.run?.status === "running" && blocking.kind === "chat";
}
