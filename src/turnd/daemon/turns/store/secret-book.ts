import { createHoldBack, createRedactor, type Redact } from "../../event-log/redact.ts";
import { secretsOfServers } from "../../executors/secrets/server-secrets.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";

/**
 * What must not leave the daemon: the operator's secrets, and those that requests brought with them. Law: keys travel
 * aside.
 */
export interface SecretBook {
  /** Takes out the operator's secrets, and those of every turn that has not ended. */
  readonly redact: Redact;
  /** The same, and what any turn of a session was given: a CLI's session has what an earlier turn has read. */
  redactorOf(sessionId: string): Redact;
  /** How many of a text's last characters may be the beginning of one of these: of what is logged in pieces. */
  holdBackOf(sessionId: string): (text: string) => number;
  add(turn: TurnSecrets, options: { readonly hasEnded: boolean }): void;
  end(turnId: string): void;
  forgetSession(sessionId: string): void;
  /** Where the secrets of a session's turns are found that have ended; without it there are none. */
  loadFrom(load: (sessionId: string) => readonly string[]): void;
}

export type TurnSecrets = Pick<TurnFile, "turn_id" | "session_id" | "mcp_servers">;

interface SessionSecrets {
  readonly secrets: Set<string>;
  readonly redact: Redact;
}

/** Sessions whose secrets are held; those of others are read again. */
const MAX_SESSIONS = 1_000;

/** @param configured - the operator's secrets */
export function createSecretBook(configured: Iterable<string>): SecretBook {
  const all = [...configured];
  const redactConfigured = createRedactor(all);
  const holdConfigured = createHoldBack(all);
  const live = new Map<string, Redact>();
  const sessions = new Map<string, SessionSecrets>();
  let load: (sessionId: string) => readonly string[] = () => [];

  function secretsOf(sessionId: string): SessionSecrets {
    const known = sessions.get(sessionId);
    return known ?? hold(sessionId, new Set(load(sessionId)));
  }
  function hold(sessionId: string, secrets: Set<string>): SessionSecrets {
    const held = { secrets, redact: secrets.size === 0 ? (text: string) => text : createRedactor(secrets) };
    sessions.delete(sessionId);
    sessions.set(sessionId, held);
    const [oldest] = sessions.keys();
    // Those of turns that have not ended are in `live` besides.
    if (sessions.size > MAX_SESSIONS && oldest !== undefined) sessions.delete(oldest);
    return held;
  }

  function redact(text: string): string {
    let redacted = redactConfigured(text);
    for (const redactTurn of live.values()) redacted = redactTurn(redacted);
    return redacted;
  }

  return {
    redact,
    // Looked up each time: the next turn of the session may be admitted while this one runs.
    redactorOf: (sessionId) => (text) => secretsOf(sessionId).redact(redact(text)),
    holdBackOf(sessionId) {
      const holdOwn = createHoldBack(secretsOf(sessionId).secrets);
      return (text) => Math.max(holdConfigured(text), holdOwn(text));
    },
    add({ turn_id: turnId, session_id: sessionId, mcp_servers: servers = {} }, { hasEnded }) {
      const secrets = secretsOfServers(servers);
      if (secrets.length === 0) return;
      if (!hasEnded) live.set(turnId, createRedactor(secrets));
      hold(sessionId, new Set([...secretsOf(sessionId).secrets, ...secrets]));
    },
    end: (turnId) => void live.delete(turnId),
    forgetSession: (sessionId) => void sessions.delete(sessionId),
    loadFrom(given) {
      load = given;
      sessions.clear();
    },
  };
}
