import { ProblemError } from "../../turnd/protocol/index.ts";
import type { TurndClient } from "../../turnd/client/turnd-client.ts";

/** Ends a session's turns and removes it; one that turnd does not have is removed already. */
export async function deleteSession(client: TurndClient, sessionId: string, signal: AbortSignal): Promise<void> {
  try {
    await client.deleteSession(sessionId, { signal });
  } catch (error) {
    if (!(error instanceof ProblemError) || error.code !== "session_not_found") throw error;
  }
}
