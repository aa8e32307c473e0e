import { AsyncLocalStorage } from "node:async_hooks";
import type { Kysely, Transaction as KyselyTransaction } from "kysely";
import type { Database } from "./tables.ts";

/** The handle of a transaction; inside one it is the only way to the database. Law: a transaction has one handle. */
export type Transaction = KyselyTransaction<Database>;
/** What reads and writes alike inside a transaction and outside. */
export type Queries = Kysely<Database>;

/** Inside a transaction something reached for the database by another way. Law: a transaction has one handle. */
export class OutsideTransactionError extends Error {
  constructor() {
    super("inside a transaction only its own handle may be used: on PGlite this call would be a deadlock");
    this.name = "OutsideTransactionError";
  }
}

/** Knows which code runs inside a transaction, and refuses it every other way to the database. */
export interface TransactionScope {
  /** @throws {OutsideTransactionError} when the calling code runs inside a transaction that is still open */
  assertOutside(): void;
  /** Runs code as one that belongs to no transaction, wherever it is called from. */
  outside<T>(work: () => T): T;
  /** Runs `work` once the transaction of the calling code is committed; never when it is undone. */
  afterCommit(work: () => void): void;
  /** Runs `fn` in a transaction; it may run again, so it must do nothing but query. */
  transaction<T>(db: Queries, fn: (trx: Transaction) => Promise<T>): Promise<T>;
}

/** Serialisation failure and deadlock: the database rolled everything back, and the transaction may be tried again. */
const RETRIED = new Set(["40001", "40P01"]);
const TRIES = 4;

/** One try of a transaction. */
interface Scope {
  isOpen: boolean;
  readonly onCommit: (() => void)[];
}

/** One for each storage; a transaction of one storage means nothing to another. */
export function createTransactionScope(): TransactionScope {
  const current = new AsyncLocalStorage<Scope | undefined>();

  function assertOutside(): void {
    // What a transaction started and outlives it is outside again.
    if (current.getStore()?.isOpen === true) throw new OutsideTransactionError();
  }

  async function once<T>(db: Queries, fn: (trx: Transaction) => Promise<T>): Promise<T> {
    const scope: Scope = { isOpen: true, onCommit: [] };
    try {
      const result = await db.transaction().execute((trx) =>
        current.run(scope, async () => {
          try {
            return await fn(trx);
          } finally {
            scope.isOpen = false;
          }
        }),
      );
      for (const work of scope.onCommit) current.run(undefined, work);
      return result;
    } finally {
      scope.isOpen = false;
    }
  }

  return {
    assertOutside,
    outside: (work) => current.run(undefined, work),
    afterCommit(work) {
      const scope = current.getStore();
      if (scope?.isOpen !== true) throw new Error("only code inside a transaction can wait for its commit");
      scope.onCommit.push(work);
    },
    async transaction(db, fn) {
      assertOutside();
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await once(db, fn);
        } catch (error) {
          if (attempt === TRIES || !RETRIED.has(sqlState(error) ?? "")) throw error;
        }
      }
    },
  };
}

/** The SQLSTATE of a fault of the database; undefined for every other fault. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** The unique index or constraint that a write ran into; undefined for every other fault. */
export function violatedConstraint(error: unknown): string | undefined {
  if (sqlState(error) !== "23505" || !(error instanceof Error) || !("constraint" in error)) return undefined;
  return typeof error.constraint === "string" ? error.constraint : undefined;
}

/** Node's names of a connection that could not be made or broke. */
const BROKEN = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ENOENT",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

/** Whether a fault means that the database is away: asking again later is right. */
export function isDatabaseAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const state = sqlState(error);
  // 08: connection; 25P03: closed as idle in a transaction; 53300: too many; 57P0x: shutting down, crashed, starting.
  if (state !== undefined) return state.startsWith("08") || /^(?:25P03|53300|57P0[1-5])$/.test(state);
  if ("code" in error && typeof error.code === "string" && BROKEN.has(error.code)) return true;
  return /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/.test(
    error.message,
  );
}
