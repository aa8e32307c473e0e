import { v7 as uuidv7 } from "uuid";
import { defined } from "../../../../kit/defined.ts";
import type { CliName, TurnRequest } from "../../../protocol/index.ts";
import type { TurnLimits } from "../lifecycle/limits.ts";
import type { TurnTrace } from "../lifecycle/tracer.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";
import type { NewFile } from "../store/turn-store.ts";

/** What every turn is made with, whatever was asked for. */
export interface NewTurn {
  readonly sessionId: string;
  readonly hash: string;
  readonly trace: TurnTrace | undefined;
  readonly createdAt: string;
  readonly order: number;
}

/** A turn before it is admitted: what is written of it. */
export interface TurnDraft {
  readonly file: TurnFile;
  readonly files: readonly NewFile[];
}

export interface TurnDetails {
  readonly request: TurnRequest;
  readonly executor: CliName;
  readonly workspace: string;
  readonly limits: Pick<TurnLimits, "turnTimeoutMs" | "idleTimeoutMs">;
  /** Whether a turn has a diff whose request does not say. */
  readonly hasDiff: boolean;
}

/** The fields that a turn and a replay have in common. */
export function beginTurnFile(
  { sessionId, hash, trace, createdAt, order }: NewTurn,
  { request_id: requestId, metadata }: Pick<TurnRequest, "request_id" | "metadata">,
) {
  const turnId = uuidv7();
  return {
    v: 1 as const,
    turn_id: turnId,
    request_id: requestId ?? turnId,
    request_hash: hash,
    session_id: sessionId,
    ...defined({ metadata }),
    ...trace,
    created_at: createdAt,
    order,
  };
}

/** Makes the turn of a request. */
export function draftTurn(made: NewTurn, { request, executor, workspace, limits, hasDiff }: TurnDetails): TurnDraft {
  const parts = typeof request.input === "string" ? [{ type: "text" as const, text: request.input }] : request.input;
  const images = parts
    .filter((part) => part.type === "image")
    .map(({ data_url }, index) => ({
      name: `image-${index + 1}.${/^data:image\/(\w+);/.exec(data_url)?.[1] ?? "png"}`,
      content: Buffer.from(data_url.slice(data_url.indexOf(",") + 1), "base64"),
    }));
  const prompt = parts
    .filter((part) => part.type === "text")
    .map((part) => part.text)
    .join("\n\n");
  const file: TurnFile = {
    ...beginTurnFile(made, request),
    executor,
    mode: request.mode,
    ...defined({ model: request.model, agent: request.agent, effort: request.effort }),
    queue_policy: request.queue_policy,
    ...defined({ steer_mode: request.steer_mode }),
    resume_policy: request.resume_policy,
    timeout_ms: request.timeout_ms ?? limits.turnTimeoutMs,
    idle_timeout_ms: request.idle_timeout_ms ?? limits.idleTimeoutMs,
    ...defined({ output_schema: request.output_schema }),
    input_excerpt: excerptOf(prompt),
    images: images.map((image) => image.name),
    workspace,
    ...defined({
      permissions: request.permissions,
      mcp_servers: request.mcp_servers,
      instructions: request.instructions,
      requested_transport: request.transport,
    }),
    ...((request.diff ?? hasDiff) ? { diff: true } : {}),
  };
  return { file, files: [{ name: "prompt.txt", content: prompt }, ...images] };
}

const EXCERPT_CHARACTERS = 200;

/** The beginning of a prompt on one line. */
export function excerptOf(prompt: string): string {
  // Far more than the excerpt takes, whatever blanks are in it; a prompt may have a megabyte.
  const line = prompt
    .slice(0, 8 * EXCERPT_CHARACTERS)
    .replaceAll(/\s+/gu, " ")
    .trim();
  const characters = Array.from(line);
  if (characters.length <= EXCERPT_CHARACTERS) return line;
  return `${characters.slice(0, EXCERPT_CHARACTERS - 1).join("")}…`;
}
