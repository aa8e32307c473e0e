import type { Storage } from "../storage/storage.ts";
import type { Transaction } from "../storage/transaction.ts";
import { createAccounts, type Accounts } from "./accounts.ts";
import { createCliSessions, type CliSessions } from "./cli-sessions.ts";
import { createCredentials, type Credentials } from "./credentials.ts";
import { createDepartments, type Departments } from "./departments.ts";
import { createKeyDerivation } from "./derive.ts";
import { createKeys, type Keys } from "./keys.ts";
import { createLockout, type LockoutLimits } from "./lockout.ts";
import { createTokens } from "./jwt.ts";
import { createLogins, type Logins } from "./logins.ts";
import { createPasswords } from "./passwords.ts";

export interface AuthOptions {
  readonly storage: Storage;
  readonly jwtSecret: string;
  readonly keySecret: string;
  readonly jwtTtlMs: number;
  readonly lockout: LockoutLimits;
  readonly initToken?: string | undefined;
  readonly onUserStopped: (trx: Transaction, userId: number) => Promise<void>;
}

/** Who may call, and as whom. */
export interface Auth {
  readonly accounts: Accounts;
  readonly logins: Logins;
  readonly departments: Departments;
  readonly keys: Keys;
  readonly cliSessions: CliSessions;
  readonly credentials: Credentials;
}

/** Wires the room. */
export function createAuth(options: AuthOptions): Auth {
  const { storage } = options;
  const tokens = createTokens(options.jwtSecret, options.jwtTtlMs);
  const keys = createKeys(storage, createKeyDerivation(options.keySecret));
  const passwords = createPasswords();
  const lockout = createLockout(storage, options.lockout);
  return {
    accounts: createAccounts({ storage, passwords, onUserStopped: options.onUserStopped }),
    logins: createLogins({ storage, passwords, tokens, lockout, initToken: options.initToken }),
    keys,
    departments: createDepartments(storage),
    cliSessions: createCliSessions(storage, keys),
    credentials: createCredentials(storage, tokens),
  };
}
