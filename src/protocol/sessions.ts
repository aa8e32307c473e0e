import * as z from "zod";
import { CliName, ExecutorName } from "./executors.ts";
import { Permissions } from "./permissions.ts";
import { CallerId, Metadata } from "./turns.ts";

/** Body of `POST /v1/sessions`. Unknown fields are refused. */
export const SessionRequest = z
  .strictObject({
    executor: CliName,
    session_id: CallerId.optional(),
    workspace: z.string().regex(/^\//, "must be an absolute path").max(4096).optional(),
    permissions: Permissions.default({}),
    metadata: Metadata.optional(),
  })
  .meta({ id: "SessionRequest" });
export type SessionRequest = z.infer<typeof SessionRequest>;

/** A conversation that survives turns, restarts and sandbox rebuilds. */
export const Session = z
  .strictObject({
    session_id: z.string(),
    executor: ExecutorName,
    workspace: z.string(),
    permissions: Permissions,
    metadata: Metadata.optional(),
    native_session_id: z.string().optional(),
    created_at: z.iso.datetime(),
    turns: z.array(z.string()).meta({ description: "Ids of its turns, oldest first." }),
    running_turn: z.string().optional(),
  })
  .meta({ id: "Session" });
export type Session = z.infer<typeof Session>;
