import * as z from "zod";
import { ExecutorName, RequestedExecutor, RequestedTransport } from "./executors.ts";
import { Instructions } from "./instructions.ts";
import { Permissions } from "./permissions.ts";
import { SessionMcpServers } from "./session-servers.ts";
import { CallerId, Metadata } from "./turns.ts";

/** Body of `POST /v1/sessions`. Unknown fields are refused. */
export const SessionRequest = z
  .strictObject({
    executor: RequestedExecutor.meta({
      description: "Which CLI runs its turns: its id, or the name of its program. Answers carry the id.",
    }),
    session_id: CallerId.optional().describe("The id it is to have; without it turnd makes one."),
    workspace: z
      .string()
      .regex(/^\//, "must be an absolute path")
      .max(4096)
      .optional()
      .describe(
        "The directory its turns work in: an absolute path below one of `TURND_WORKSPACE_ROOTS`. It stays when the session " +
          "is deleted. Without it the session gets one of its own below `TURND_WORKSPACE`, which goes with it; with " +
          "`TURND_SESSION_WORKSPACE=shared` it works in `TURND_WORKSPACE` itself, as all others.",
      ),
    permissions: Permissions.default({}).describe("What no turn of the session may do."),
    mcp_servers: SessionMcpServers.optional().meta({
      description:
        "MCP servers of every turn, besides the operator's; one of a turn's request with the same name wins. Secrets " +
        "only by reference. A turn that may not execute starts none of type stdio.",
    }),
    instructions: Instructions.optional().meta({
      description: "Given to the model in every turn. No limit: `permissions` are.",
    }),
    transport: RequestedTransport.optional().meta({
      description: "How its turns are driven that do not say. Default: `TURND_TRANSPORT`.",
    }),
    metadata: Metadata.optional(),
  })
  .meta({ id: "SessionRequest", description: "A session to make. Unknown fields are refused." });
export type SessionRequest = z.infer<typeof SessionRequest>;

/** A conversation that survives turns, restarts and sandbox rebuilds. */
export const Session = z
  .strictObject({
    session_id: z.string().describe("The session's id."),
    executor: ExecutorName,
    workspace: z
      .string()
      .describe("The directory its turns work in. Its files: `GET /v1/sessions/{session_id}/files`."),
    permissions: Permissions,
    mcp_servers: SessionMcpServers.optional().meta({ description: "As given: references, and no secret." }),
    instructions: Instructions.optional(),
    transport: RequestedTransport.optional(),
    metadata: Metadata.optional(),
    native_session_id: z.string().optional().describe("The CLI's own id of the conversation, once it has named one."),
    created_at: z.iso.datetime().describe("When it was made, UTC."),
    turns: z.array(z.string()).meta({ description: "Ids of its newest turns, at most 1000, oldest first." }),
    turn_count: z.int().nonnegative().optional().meta({ description: "How many turns it has in all." }),
    running_turn: z.string().optional().describe("Id of the turn that runs now."),
  })
  .meta({ id: "Session", description: "A conversation that survives turns, restarts and sandbox rebuilds." });
export type Session = z.infer<typeof Session>;
