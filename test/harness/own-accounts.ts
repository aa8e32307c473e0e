import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { parseAccounts, type Account } from "../../src/turnd/daemon/process/accounts.ts";
import { temporaryDirectory } from "./temporary.ts";

/** A machine's accounts, only for programs of one test: no other sees what they change in /etc. */
export interface OwnAccounts {
  /** What starts a program there, its own command line behind. */
  readonly through: readonly [string, ...string[]];
  /** Its /etc/passwd, as it is outside. */
  readonly passwd: string;
  accounts(): Account[];
  /** Changes that file. */
  replace(what: RegExp, by: string): void;
}

export interface AccountOptions {
  readonly isReadOnly?: boolean;
  readonly hasUseradd?: boolean;
}

const ENTER = `set -e
mount --bind "$1" /etc
[ "$2" = writable ] || mount -o remount,ro,bind /etc
[ "$3" = has-useradd ] || for program in /usr/sbin/useradd /sbin/useradd /usr/bin/useradd; do
  [ ! -e "$program" ] || mount --bind /dev/null "$program"
done
shift 3
exec "$@"`;

/** Whether this machine lets a test have accounts of its own. */
export const HAS_OWN_ACCOUNTS =
  process.getuid?.() === 0 &&
  existsSync("/usr/sbin/useradd") &&
  execaSync("unshare", ["--mount", "true"], { reject: false }).exitCode === 0;

export function ownAccounts(onDone: (cleanUp: () => void) => void, options: AccountOptions = {}): OwnAccounts {
  const { isReadOnly = false, hasUseradd = true } = options;
  const etc = join(temporaryDirectory(onDone), "etc");
  cpSync("/etc", etc, { recursive: true, verbatimSymlinks: true });
  // The machine may have made one already.
  for (const file of ["passwd", "group", "shadow", "gshadow"]) {
    const path = join(etc, file);
    if (existsSync(path)) writeFileSync(path, readFileSync(path, "utf8").replaceAll(/^turnd-cli:.*\n/gm, ""));
  }
  const passwd = join(etc, "passwd");
  const modes = [isReadOnly ? "read-only" : "writable", hasUseradd ? "has-useradd" : "no-useradd"];
  return {
    through: ["unshare", "--mount", "--propagation", "private", "bash", "-c", ENTER, "bash", etc, ...modes],
    passwd,
    accounts: () => parseAccounts(readFileSync(passwd, "utf8")),
    replace: (what, by) => writeFileSync(passwd, readFileSync(passwd, "utf8").replace(what, by)),
  };
}
