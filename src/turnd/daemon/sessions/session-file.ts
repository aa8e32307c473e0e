import { z } from "zod";
import {
  CallerId,
  ExecutorName,
  Instructions,
  Metadata,
  Permissions,
  RequestedTransport,
  SessionMcpServers,
  Usage,
} from "../../protocol/index.ts";

/** `session.json`: what is known of a session besides its turns. */
export const SessionFile = z.object({
  v: z.literal(1),
  session_id: CallerId,
  executor: ExecutorName,
  workspace: z.string(),
  /** turnd has made the workspace only for this session, and removes it with it. */
  own_workspace: z.literal(true).optional(),
  permissions: Permissions,
  /** References stay references: no secret is in this file. */
  mcp_servers: SessionMcpServers.optional(),
  instructions: Instructions.optional(),
  transport: RequestedTransport.optional(),
  metadata: Metadata.optional(),
  /** The CLI's own id, once it is known. */
  native_session_id: z.string().optional(),
  /** What the native session has used so far, for a CLI that counts over the whole session. */
  native_usage: Usage.optional(),
  /** Where the session's home was when the native session began or was last resumed: a state may be copied elsewhere. */
  native_home: z.string().optional(),
  /** Why the native session misses a turn: the next one goes on in a fresh native session. */
  native_history_lost: z.string().optional(),
  /** Digest of the instructions that the last completed turn was given; absent where it had none. */
  native_instructions: z.string().optional(),
  created_at: z.iso.datetime(),
});
export type SessionFile = z.infer<typeof SessionFile>;
