import { createRedactor, type Redact } from "../../event-log/redact.ts";
import { secretsOfServers } from "../../executors/secrets/server-secrets.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";

/** What must not leave the daemon: the operator's secrets, and those that requests brought with them (law 8). */
export interface SecretBook {
  /** Takes out the operator's secrets, and those of every turn that has not ended. */
  readonly redact: Redact;
  /** The same, and what any turn of a session was given: a CLI's session has what an earlier turn has read. */
  redactorOf(sessionId: string): Redact;
  add(turn: TurnSecrets, options: { readonly hasEnded: boolean }): void;
  end(turnId: string): void;
  forgetSession(sessionId: string): void;
}

export type TurnSecrets = Pick<TurnFile, "turn_id" | "session_id" | "mcp_servers">;

interface SessionSecrets {
  readonly secrets: Set<string>;
  readonly redact: Redact;
}

/** @param configured - the operator's secrets */
export function createSecretBook(configured: Iterable<string>): SecretBook {
  const redactConfigured = createRedactor(configured);
  const live = new Map<string, Redact>();
  const sessions = new Map<string, SessionSecrets>();

  function redact(text: string): string {
    let redacted = redactConfigured(text);
    for (const redactTurn of live.values()) redacted = redactTurn(redacted);
    return redacted;
  }

  return {
    redact,
    // Looked up each time: the next turn of the session may be admitted while this one runs.
    redactorOf: (sessionId) => (text) => {
      const redacted = redact(text);
      return sessions.get(sessionId)?.redact(redacted) ?? redacted;
    },
    add({ turn_id: turnId, session_id: sessionId, mcp_servers: servers = {} }, { hasEnded }) {
      const secrets = secretsOfServers(servers);
      if (secrets.length === 0) return;
      if (!hasEnded) live.set(turnId, createRedactor(secrets));
      const all = new Set([...(sessions.get(sessionId)?.secrets ?? []), ...secrets]);
      sessions.set(sessionId, { secrets: all, redact: createRedactor(all) });
    },
    end: (turnId) => void live.delete(turnId),
    forgetSession: (sessionId) => void sessions.delete(sessionId),
  };
}
