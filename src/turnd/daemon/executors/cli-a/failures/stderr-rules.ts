import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";
import { LAST_WORDS, REJECTED_ASK, START_UP, START_UP_OF_RESUME } from "./facts.ts";

/** Id of the rule for a resume that failed because the store cannot be read; a fresh session could not start there either. */
export const CORRUPT_ON_RESUME = "store-corrupt-on-resume";

const ANY_START = new RegExp(`^${START_UP}`);
const FRESH_START = new RegExp(`^${START_UP}$`);
/** At its start, or when it crashed later. */
const ANY_TIME = new RegExp(`^(?:${START_UP}|${LAST_WORDS}$)`);
const FRESH_OR_LATER = new RegExp(`^(?:${START_UP}|${LAST_WORDS})$`);
const RESUMING = new RegExp(`^${START_UP_OF_RESUME}$`);

/** What the CLI says on stderr when it cannot start or go on, or stops because no person answers. */
export const STDERR_RULES: readonly FailureRule[] = [
  {
    // Before all others: Bun quotes the guard's source above its error.
    id: "guard-configuration",
    on: "stderr",
    name: ANY_START,
    pattern: /^error: turnd: the configuration cannot be read: /,
    code: "storage_error",
    message: (fact) => `CLI A cannot read the configuration that turnd wrote for it: ${quote(fact)}`,
    remedy: "send the turn again, which writes it anew, and have the operator look at the disk if that fails too",
    seenIn: "cli-a/1.18.33/guard-configuration-gone",
  },
  {
    id: "guard",
    on: "stderr",
    name: ANY_START,
    pattern: /^error: (?:turnd: (?:this CLI cannot be kept from|nothing can be hidden from)|preload not found )/,
    code: "executor_unavailable",
    message: (fact) => `turnd's guard cannot keep the workspace's code out of CLI A: ${quote(fact)}`,
    remedy: "have the operator run `turnd doctor`, and install a version of it that turnd was measured with",
    seenIn: "cli-a/1.18.33/guard-loads-files",
  },
  {
    id: "session-not-found",
    on: "stderr",
    name: ANY_START,
    pattern: /Session not found: \S/,
    code: "resume_degraded",
    message: "CLI A does not know the session it was to continue.",
    seenIn: "cli-a/1.3.2/resume-unknown-session",
  },
  {
    id: "session-not-found-at-start",
    on: "stderr",
    name: RESUMING,
    pattern: /^Error: Session not found$/,
    code: "resume_degraded",
    message: "CLI A does not know the session it was to continue.",
    seenIn: "cli-a/1.3.2/resume-fork-of-unknown-session",
  },
  {
    id: "session-not-made",
    on: "stderr",
    name: FRESH_START,
    pattern: /^Error: Session not found$/,
    code: "unknown",
    message:
      "CLI A could not make a session: a server password in its environment, or a server it was to use, prevents it.",
    remedy: "have the operator take these out of its environment",
    seenIn: "cli-a/1.3.2/inherited-server-password",
    isProven: false,
  },
  {
    // Why is not told: a damaged store is no database, this one is full, or may only be read.
    id: "store-statement",
    on: "stderr",
    name: ANY_TIME,
    pattern: /^Failed to execute statement|^Failed (?:query: |to run the query ')PRAGMA wal_checkpoint/,
    code: "storage_error",
    message: "CLI A cannot write the store of its sessions: its disk is full, or it may not write there.",
    seenIn: "cli-a/1.18.33/store-disk-full",
  },
  {
    // Nothing of these says that what is stored is damaged: it is there again when they have passed.
    id: "store-unusable",
    on: "stderr",
    name: ANY_TIME,
    pattern:
      /^Failed query: |unable to open database file|database is locked|attempt to write a readonly database|database or disk is full|disk I\/O error|SQLITE_(?:BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|PERM|AUTH|NOMEM)/,
    code: "storage_error",
    message: (fact) => `CLI A cannot use the store of its sessions, which is kept: ${quote(fact)}`,
    remedy: "have the operator look at the session's home and its disk, and send the turn again",
    seenIn: "docs/contracts/cli-a.md §3",
  },
  {
    id: CORRUPT_ON_RESUME,
    on: "stderr",
    name: RESUMING,
    pattern:
      /turnd: the store cannot be used as it is: |Failed to run the query|PRAGMA |SQLITE_(?:CORRUPT|NOTADB)|database disk image is malformed|file is not a database/,
    code: "resume_degraded",
    message: "CLI A cannot read the store of its sessions, so the session could not be continued.",
    seenIn: "cli-a/1.3.2/resume-corrupt-store",
  },
  {
    id: "store-corrupt",
    on: "stderr",
    name: FRESH_OR_LATER,
    pattern:
      /turnd: the store cannot be used as it is: |Failed to run the query|PRAGMA |SQLITE_|database or disk is full|disk I\/O error|database disk image is malformed|file is not a database/,
    code: "storage_error",
    message: "CLI A cannot use the store of its sessions: it is damaged, or its disk is full.",
    remedy: "start a new session, and have the operator look at the disk if that fails too",
    seenIn: "cli-a/1.14.34/corrupt-store",
  },
  {
    id: "output-unread",
    on: "stderr",
    name: ANY_START,
    pattern: /^EPIPE\b/,
    code: "output_incomplete",
    message: "CLI A could not print: nobody read its output any more.",
    seenIn: "cli-a/1.18.33/reader-gone",
  },
  {
    id: "config-invalid",
    on: "stderr",
    name: ANY_START,
    pattern:
      /Config file at .{0,2000} is not valid JSON|Configuration is invalid at|ConfigInvalidError|ConfigJsonError|FileSystem\.readFile \(\S{0,2000}\/(?:config|opencode)\.jsonc?\)/,
    code: "config_invalid",
    message: (fact) => `CLI A cannot use its configuration: ${quote(fact)}`,
    seenIn: "cli-a/1.3.2/config-invalid",
  },
  {
    id: "not-writable",
    on: "stderr",
    name: ANY_TIME,
    // The second part: something else stands where a directory is to be.
    pattern:
      /\b(?:EACCES|EROFS|ENOSPC|EDQUOT|EIO)\b|\b(?:ENOTDIR|EEXIST|EPERM|EISDIR|ELOOP)\b.{0,80}\b(?:mkdir|open|write|rename)\b/,
    code: "storage_error",
    message: (fact) => `CLI A cannot write its home: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/cache-not-writable",
  },
  {
    id: "arguments",
    on: "stderr",
    name: ANY_START,
    pattern:
      /^Error: (?:File not found: |--[a-z][\w-]* )|You must provide a message|Failed to change directory to|^(?:Unknown|Invalid|Missing|Not enough) |^\S+ run \[message\.\.\]/,
    code: "invalid_request",
    message: (fact) => `CLI A does not take what it was started with: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/no-message",
  },
  {
    id: "no-directory",
    on: "stderr",
    name: ANY_START,
    pattern: /current working directory was deleted/,
    code: "executor_unavailable",
    message: "CLI A cannot start: its working directory is gone.",
    remedy: "choose a workspace that exists",
    seenIn: "cli-a/1.3.2/cwd-deleted",
  },
  {
    id: "cannot-run",
    on: "stderr",
    name: ANY_START,
    pattern: /Illegal instruction|CPU lacks|GLIBC_|cannot execute|error while loading shared libraries/,
    code: "executor_unavailable",
    message: (fact) => `CLI A cannot run on this machine: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §2",
  },
  {
    id: "panic",
    on: "stderr",
    name: ANY_TIME,
    pattern: /^panic(?:\(|:)|Bun has crashed|Segmentation fault|out of memory/i,
    code: "crashed",
    message: (fact) => `CLI A crashed: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-a.md §5.2",
  },
  {
    id: "model-not-configured-log",
    on: "stderr",
    name: ANY_START,
    pattern: /ProviderModelNotFoundError/,
    code: "model_not_found",
    message: "CLI A knows no such model or provider.",
    seenIn: "cli-a/1.14.34/unknown-model",
  },
  {
    id: "rejected-ask",
    on: "stderr",
    name: new RegExp(`^${REJECTED_ASK}$`),
    code: "permission_denied",
    message: (fact) => `A tool asked for a permission and was refused it: ${quote(fact)}`,
    seenIn: "cli-a/1.14.34/permissions-auto-rejected",
  },
];
