import { createHash, randomBytes, randomInt } from "node:crypto";
import { sql, type Selectable } from "kysely";
import type { ApiKey, CliSession } from "../protocol/auth.ts";
import { ApiProblem } from "../protocol/problems.ts";
import type { Storage } from "../storage/storage.ts";
import type { CliSessionTable } from "../storage/tables.ts";
import { violatedConstraint, type Transaction } from "../storage/transaction.ts";
import type { KnownActor } from "./accounts.ts";
import { writeAudit } from "./audit.ts";
import type { Caller } from "./caller.ts";
import type { Keys } from "./keys.ts";
import { countedInWindow, countInWindow } from "./lockout.ts";
import { assertMayAny, PERMISSIONS } from "./permissions.ts";

/** A login of a command-line client that a person approves in a browser. Source: RFC 8628, without its form encoding. */
export type CliSessions = ReturnType<typeof createCliSessions>;

/** What a client gets that begins to log in. */
export interface StartedCliSession {
  readonly deviceCode: string;
  readonly userCode: string;
  readonly expiresInSeconds: number;
  readonly intervalSeconds: number;
}

/** Without 0, 1, I and O, which people mix up. */
const ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
const EXPIRES_SECONDS = 600;
const INTERVAL_SECONDS = 2;
const CODE_WINDOW_MS = 60_000;
const WRONG_CODES = 10;
/** Codes are picked at random; a pick that is taken is picked again. */
const PICKS = 5;

export function createCliSessions(storage: Storage, keys: Keys) {
  async function start(clientName: string, ip: string): Promise<StartedCliSession> {
    const deviceCode = randomBytes(32).toString("base64url");
    for (let pick = 1; ; pick += 1) {
      const userCode = pickUserCode();
      try {
        await storage.db
          .insertInto("cli_session")
          .values({
            device_hash: hashDeviceCode(deviceCode),
            user_code: userCode,
            client_name: clientName,
            state: "pending",
            ip,
            expires_at: sql<Date>`now() + ${EXPIRES_SECONDS}::int * interval '1 second'`,
          })
          .execute();
        return { deviceCode, userCode, expiresInSeconds: EXPIRES_SECONDS, intervalSeconds: INTERVAL_SECONDS };
      } catch (error) {
        if (violatedConstraint(error) === undefined || pick === PICKS) throw error;
      }
    }
  }

  async function get(caller: Caller, userCode: string): Promise<CliSession> {
    return show(await find(caller, userCode));
  }

  async function decide(actor: KnownActor, userCode: string, state: "approved" | "denied"): Promise<CliSession> {
    assertMayAny(actor.caller, PERMISSIONS.decideLogin);
    const found = await find(actor.caller, userCode);
    return storage.transaction(async (trx) => {
      const row = await trx
        .updateTable("cli_session")
        .set({ state, user_id: actor.caller.userId })
        .where("device_hash", "=", found.device_hash)
        .where("state", "=", "pending")
        .where("expires_at", ">", sql<Date>`now()`)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined)
        throw new ApiProblem("cli_session_decided", "this login was decided already, or has expired");
      await writeAudit(trx, actor, {
        action: `cli_session.${state}`,
        subject: `user:${actor.caller.userId}`,
        details: { client_name: row.client_name },
      });
      return show(row);
    });
  }

  /** Guessing a code is limited for each account, in all processes. */
  async function find(caller: Caller, userCode: string): Promise<Selectable<CliSessionTable>> {
    const bucket = `code:${caller.userId}`;
    if ((await countedInWindow(storage, bucket, CODE_WINDOW_MS)) >= WRONG_CODES) {
      throw new ApiProblem("too_many_codes", "too many wrong codes; wait a minute", {}, CODE_WINDOW_MS / 1_000);
    }
    const row = await storage.db
      .selectFrom("cli_session")
      .selectAll()
      .where("user_code", "=", normalize(userCode))
      .where("expires_at", ">", sql<Date>`now()`)
      .executeTakeFirst();
    // The decision is shown to the user who made it, and to no other.
    if (row !== undefined && (row.user_id === null || row.user_id === caller.userId)) return row;
    await countInWindow(storage, bucket, CODE_WINDOW_MS);
    throw new ApiProblem("cli_session_not_found", "there is no login with this code; codes are good for ten minutes");
  }

  /** Gives the key of an approved login, the same again for a repeat in time. */
  async function exchange(deviceCode: string, ip: string | null): Promise<{ api_key: ApiKey; secret: string }> {
    const outcome = await storage.transaction((trx) => exchangeIn(trx, hashDeviceCode(deviceCode), ip));
    // A refused poll is kept, so its refusal is thrown when the transaction is done.
    if (outcome instanceof ApiProblem) throw outcome;
    return outcome;
  }

  async function exchangeIn(trx: Transaction, hash: Buffer, ip: string | null) {
    const row = await trx
      .selectFrom("cli_session")
      .selectAll()
      .select([
        sql<boolean>`expires_at <= now()`.as("isExpired"),
        // A little less than the interval: a client's clock and the network are not exact.
        sql<boolean>`coalesce(last_polled_at > now() - ${INTERVAL_SECONDS * 900}::int * interval '1 millisecond', false)`.as(
          "isTooFast",
        ),
      ])
      .where("device_hash", "=", hash)
      .forUpdate()
      .executeTakeFirst();
    if (row === undefined || row.isExpired)
      return new ApiProblem("expired_token", "this login has expired; begin again");
    if (row.state === "denied") return new ApiProblem("access_denied", "the login was denied");
    if (row.state === "pending" || row.user_id === null) {
      await trx
        .updateTable("cli_session")
        .set({ last_polled_at: sql<Date>`now()` })
        .where("device_hash", "=", hash)
        .execute();
      if (row.isTooFast) return new ApiProblem("slow_down", `poll every ${INTERVAL_SECONDS} s at most`);
      return new ApiProblem("authorization_pending", "the login is not approved yet");
    }
    // Locked, so that the user is not deleted between this look and the key.
    const user = await trx
      .selectFrom("account")
      .selectAll()
      .where("id", "=", row.user_id)
      .forUpdate()
      .executeTakeFirstOrThrow();
    if (user.deleted_at !== null) return new ApiProblem("access_denied", "the user who approved the login was deleted");
    if (!user.is_enabled) return new ApiProblem("access_denied", "the user who approved the login is disabled");
    const caller: Caller = {
      userId: user.id,
      username: user.username,
      role: user.role,
      departmentId: user.department_id,
      // The login that approved: no key does.
      credential: { type: "jwt" },
    };
    const made = await keys.createIn(
      trx,
      { caller, ip },
      {
        userId: user.id,
        requestId: `cli.${hash.toString("hex").slice(0, 32)}`,
        name: row.client_name,
        expiresAt: null,
        source: "cli",
      },
    );
    await trx
      .updateTable("cli_session")
      .set({ state: "consumed", api_key_id: made.api_key.id })
      .where("device_hash", "=", hash)
      .execute();
    return made;
  }

  return {
    start,
    get,
    approve: (actor: KnownActor, code: string) => decide(actor, code, "approved"),
    deny: (actor: KnownActor, code: string) => decide(actor, code, "denied"),
    exchange,
  };
}

function hashDeviceCode(code: string): Buffer {
  return createHash("sha256").update(code).digest();
}

function pickUserCode(): string {
  const letters = Array.from({ length: 8 }, () => ALPHABET[randomInt(ALPHABET.length)]).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

/** As a person types it: any case, with or without the dash. */
function normalize(code: string): string {
  const letters = code.toUpperCase().replaceAll(/[^A-Z0-9]/g, "");
  return `${letters.slice(0, 4)}-${letters.slice(4)}`;
}

function show(row: Selectable<CliSessionTable>): CliSession {
  return {
    state: row.state,
    client_name: row.client_name,
    ip: row.ip,
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at.toISOString(),
  };
}
