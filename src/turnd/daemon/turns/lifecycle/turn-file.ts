import { join } from "node:path";
import { z } from "zod";
import {
  CallerId,
  CancelReceipt,
  CliName,
  Exit,
  FailureCode,
  Instructions,
  McpServers,
  Metadata,
  Mode,
  Permissions,
  ReplaySpeed,
  RequestedTransport,
  TakenInput,
  Transport,
  TurnEndedBy,
  Usage,
} from "../../../protocol/index.ts";
import { replaceFileAtomic, writeBeside, writeFileAtomic, type Replacement } from "../../storage/atomic-file.ts";
import { readRegular } from "../../storage/read-regular.ts";
import { TurnTrace } from "./tracer.ts";

/** What turnd itself did to end a turn; null when it did nothing. Source: docs/design.md §2. */
export const EndedBy = TurnEndedBy.nullable();
export type EndedBy = z.infer<typeof EndedBy>;

/** `turn.json` of an admitted turn. Writing it, synced, is what admits the turn. Law: at most once. */
export const TurnFile = z.object({
  v: z.literal(1),
  turn_id: z.string(),
  request_id: CallerId,
  /** SHA-256 of the request after validation and defaults: the same id with another body is a conflict. */
  request_hash: z.string(),
  session_id: CallerId,
  executor: CliName,
  mode: Mode,
  model: z.string().optional(),
  agent: z.string().optional(),
  effort: z.string().optional(),
  queue_policy: z.enum(["enqueue", "reject", "steer"]),
  steer_mode: z.enum(["inject", "interrupt"]).optional(),
  /** The running turn whose CLI was to be given its input: only that turn's log shows whether it took it. */
  given_to: z.string().optional(),
  /** The turn that took its input in: it never runs itself. */
  taken: TakenInput.optional(),
  resume_policy: z.enum(["continue", "fail"]),
  timeout_ms: z.int().nonnegative(),
  idle_timeout_ms: z.int().nonnegative(),
  output_schema: z.record(z.string(), z.unknown()).optional(),
  /** The beginning of the prompt, for lists; absent in turns of an earlier turnd. */
  input_excerpt: z.string().optional(),
  /** File names of the images in the turn's directory. */
  images: z.array(z.string()),
  workspace: z.string(),
  /** Besides the session's. */
  permissions: Permissions.optional(),
  /** Secrets in them as they are: a later start has to render the same. */
  mcp_servers: McpServers.optional(),
  /** Besides the session's. */
  instructions: Instructions.optional(),
  /** How its request asked for it to be driven. */
  requested_transport: RequestedTransport.optional(),
  /** How it is driven, once it has started; absent: a process of its own. */
  transport: Transport.optional(),
  /** What it changes in its workspace is kept: `changes.json`, `changes.diff`. */
  diff: z.boolean().optional(),
  metadata: Metadata.optional(),
  ...TurnTrace.partial().shape,
  created_at: z.iso.datetime(),
  /** Turns are taken in this order; it only grows, across restarts too. */
  order: z.int().nonnegative(),
  started_at: z.iso.datetime().optional(),
  /** The same moment in milliseconds of that boot of the machine; absent in turns of an earlier turnd. */
  started_boot: z.object({ id: z.string(), ms: z.number() }).optional(),
  /** What the CLI is called in the image that ran it, and its version there. */
  cli_name: z.string().optional(),
  cli_version: z.string().optional(),
  args: z.array(z.string()).optional(),
  requested_session: z.string().nullable().optional(),
  /** Of a replay: its recording was output alone. */
  output_alone: z.literal(true).optional(),
  usage_before: Usage.optional(),
  /** Why turnd's own request to the provider, before the start, was not answered: a CLI may not print a cause. */
  provider_fault: z.string().optional(),
  /** A resume that failed: the plain files belong to a fresh native session. */
  degraded: z
    .object({
      requested: z.string(),
      reason: z.string(),
      /** Files of the home that would keep that session from starting too; they are set aside first. */
      set_aside: z.array(z.string()).default([]),
    })
    .optional(),
  /** Why turnd itself failed the turn: nothing else in its directory shows it. */
  halted: z.object({ code: FailureCode, message: z.string(), remedy: z.string().optional() }).optional(),
  ended_by: EndedBy.optional(),
  /** For the receipts of cancels: a repeated one says the same. */
  ended_processes: CancelReceipt.shape.ended.optional(),
  /**
   * Only of a replay: `executor` and what else is said of the process are the recording's then. Nothing is started for
   * it, so it has no `started` and no keeper; where its directory stands is all that a later daemon needs to go on.
   */
  replay: z
    .object({
      speed: ReplaySpeed,
      /** Of the recording; they become the turn's own when its end has been reached. */
      ended_by: EndedBy,
      exit: Exit.nullable(),
      /** False when no process ever ran: then there is an end and nothing else. */
      has_run: z.boolean(),
      /** Its end has been reached: the directory is the recording's equal. */
      is_played: z.boolean(),
    })
    .optional(),
});
export type TurnFile = z.infer<typeof TurnFile>;

const FILE = "turn.json";

/** Replaces `turn.json`; durable when it resolves. */
export async function writeTurnFile(directory: string, file: TurnFile): Promise<void> {
  await writeFileAtomic(join(directory, FILE), toText(file));
}

/** The same up to the moment that admits the turn, which is when it is put in place. */
export function draftTurnFile(directory: string, file: TurnFile): Promise<Replacement> {
  return writeBeside(join(directory, FILE), toText(file));
}

/** The same before its process is started: the keeper syncs the directory before it lets the command run. */
export async function replaceTurnFile(directory: string, file: TurnFile): Promise<void> {
  await replaceFileAtomic(join(directory, FILE), toText(file));
}

function toText(file: TurnFile): string {
  return `${JSON.stringify(file)}\n`;
}

/** Reads `turn.json`; undefined when there is none, which means that the turn was never admitted. */
export async function readTurnFile(directory: string): Promise<TurnFile | undefined> {
  let text: string;
  try {
    text = (await readRegular(join(directory, FILE))).toString("utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
  return TurnFile.parse(JSON.parse(text));
}
