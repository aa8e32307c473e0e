import { defined } from "../../../kit/defined.ts";
import type { McpServers } from "../../../turnd/protocol/index.ts";
import type { TurnRequestBody } from "../../../turnd/client/turnd-client.ts";
import { turndModel } from "../../agents/models.ts";
import type { Manifest } from "../../agents/manifest.ts";
import { HumanDecisions } from "../../protocol/runs.ts";
import type { RequestInput, RequestOptions } from "../state/rows.ts";

/**
 * What a run's turn is made of; nothing else goes in, so that every attempt sends the same. Law: a turn runs at most
 * once.
 */
export interface TurnSource {
  readonly runId: string;
  readonly sessionId: string;
  readonly threadId: string;
  readonly queuePolicy: "enqueue" | "reject" | "steer";
  readonly input: RequestInput;
  readonly options: RequestOptions;
  readonly manifest: Manifest;
}

/** What a run does. */
export type Assignment =
  | {
      readonly kind: "turn";
      readonly text: string;
      readonly mode: "execute" | "plan" | "review";
      readonly needsApproval: boolean;
    }
  /** A plan that was rejected without a word: nothing is left to do. */
  | { readonly kind: "nothing" };

const IMAGE_ALONE = "See the attached image.";
const APPROVED = "The plan is approved. Carry it out.";

/** Decides what a run does from its request and its agent. */
export function assignmentOf({ input, manifest }: Pick<TurnSource, "input" | "manifest">): Assignment {
  const asks = manifest.mode === "plan_then_execute" && manifest.tool_approval_mode === "default";
  const text = input.query !== "" ? input.query : input.images.length > 0 ? IMAGE_ALONE : "";
  if (input.resume === undefined) {
    if (manifest.mode !== "plan_then_execute") return { kind: "turn", text, mode: manifest.mode, needsApproval: false };
    return { kind: "turn", text, mode: asks ? "plan" : "execute", needsApproval: asks };
  }
  const [decision] = HumanDecisions.parse(input.resume).decisions;
  const message = decision?.message !== undefined && decision.message !== "" ? decision.message : text;
  if (decision?.type === "approve")
    return { kind: "turn", text: message === "" ? APPROVED : message, mode: "execute", needsApproval: false };
  if (message === "") return { kind: "nothing" };
  return { kind: "turn", text: message, mode: "plan", needsApproval: true };
}

/**
 * The servers of tools that a run's turn gets; the same each time for the same run. Law: a turn runs at most once.
 *
 * @throws {RunFailure} when there is no way for the turn to reach them
 */
export type ToolServers = (turn: Pick<TurnSource, "runId" | "manifest">) => Promise<McpServers>;

/** The body of `POST /v1/turns`. */
export function turnBody(
  source: TurnSource,
  work: Extract<Assignment, { kind: "turn" }>,
  servers: McpServers,
): TurnRequestBody {
  const { manifest, options, input } = source;
  const timeoutMs = options.timeout_ms ?? manifest.limits.timeout_ms;
  const idleTimeoutMs = manifest.limits.idle_timeout_ms;
  return {
    request_id: source.runId,
    session_id: source.sessionId,
    input:
      input.images.length === 0
        ? work.text
        : [
            { type: "text", text: work.text },
            ...input.images.map((data_url) => ({ type: "image" as const, data_url })),
          ],
    mode: work.mode,
    ...(manifest.model_spec === null ? {} : { model: turndModel(manifest.executor, manifest.model_spec) }),
    ...defined({ timeout_ms: timeoutMs, idle_timeout_ms: idleTimeoutMs }),
    // A run is a turn of its own, with an answer of its own.
    ...(source.queuePolicy === "steer"
      ? { queue_policy: "steer", steer_mode: "interrupt" }
      : { queue_policy: "enqueue" }),
    // The agent as it is now: what it was tightened to reaches its threads with the next run.
    ...(Object.keys(manifest.permissions).length === 0 ? {} : { permissions: manifest.permissions }),
    ...defined({ instructions: manifest.instructions }),
    ...(Object.keys(servers).length === 0 ? {} : { mcp_servers: servers }),
    metadata: { run_id: source.runId, thread_id: source.threadId },
  };
}
