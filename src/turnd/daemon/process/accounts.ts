import { readFile } from "node:fs/promises";
import type { CliUser } from "./run-as.ts";

/** An entry of /etc/passwd. @see passwd(5) */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

export const ACCOUNTS = "/etc/passwd";
/** Shells of accounts that nobody logs in to. An empty field means `/bin/sh`. */
const NO_LOGIN = /(^|\/)(nologin|false|true|sync|halt|shutdown)$/;

/** @returns none where the file cannot be read: a platform may give each container a uid without an entry */
export async function readAccounts(path = ACCOUNTS): Promise<Account[]> {
  return parseAccounts(await readFile(path, "utf8").catch(() => ""));
}

export function parseAccounts(text: string): Account[] {
  return text.split("\n").flatMap((line) => {
    const [name = "", , uid = "", gid = "", , home = "", shell = ""] = line.split(":");
    if (name === "" || !/^\d+$/.test(uid) || !/^\d+$/.test(gid)) return [];
    return [{ name, uid: Number(uid), gid: Number(gid), home, shell }];
  });
}

export function hasLogin({ shell }: Account): boolean {
  return !NO_LOGIN.test(shell);
}

/**
 * Whether the CLIs run as somebody who logs in: their tools read and change that account's files, keys of SSH too.
 *
 * @param home - the CLIs' own: an account that has it was made for them, as in the image
 * @returns what to warn of
 */
export function describeLogin(
  accounts: readonly Account[],
  { uid, isSelf }: CliUser,
  home: string,
): string | undefined {
  // That turnd's own user is the CLIs' is reported by itself.
  const account = isSelf
    ? undefined
    : accounts.find((each) => each.uid === uid && hasLogin(each) && each.home !== home);
  if (account === undefined) return undefined;
  return `the CLIs run as uid ${uid}, which is ${account.name}, an account with a login (home ${account.home}): they can read and change its files`;
}

/** What a person can do about it. */
export const LOGIN_REMEDY =
  "run them as a user of their own, as npm start does for a new state: useradd --system --shell /usr/sbin/nologin, and its uid:gid in TURND_RUN_AS";
