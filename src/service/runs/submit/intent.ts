import type { QueuePolicy } from "../../protocol/runs.ts";
import type { ThreadRow } from "../../threads/threads.ts";
import type { RequestInput, RequestOptions, RequestRow, RunRow } from "../state/rows.ts";

/** The content of a submission. */
export interface Intent {
  readonly source: "chat" | "agent_call" | "evaluation";
  readonly requestId: string;
  readonly threadId: string;
  readonly agentSlug: string;
  readonly input: RequestInput;
  readonly options: RequestOptions;
  readonly queuePolicy: QueuePolicy;
  /** Makes the thread of this id where it is not there yet. */
  readonly makesThread: boolean;
  readonly traceparent?: string | undefined;
}

/** A request that was accepted, now or before, with its run once there is one. */
export interface AcceptedRequest {
  readonly request: RequestRow;
  readonly run: RunRow | undefined;
  readonly thread: ThreadRow;
  /** Where it waits, as it was decided; absent where that has to be looked up. */
  readonly position?: number;
}
