import { quote } from "../../classification/rules.ts";
import type { FailureRule } from "../../contract/failures.ts";

const FAILED = "thread/(?:resume|fork) failed: ";
const TRY_AGAIN = "send the turn again, which goes on in the same thread";

/** A resume that failed with any of these in its message. */
const failed = (...causes: readonly string[]): RegExp => new RegExp(`${FAILED}[^]{0,2000}?(?:${causes.join("|")})`);

/**
 * Why a thread could not be continued. Source: docs/contracts/cli-b.md §4; both measured versions with each of these.
 *
 * Only a history that is missing or cannot be read is given up for a fresh thread. Whatever else keeps a thread from
 * opening may pass: it fails its turn, and the thread is kept. Law: never pretend.
 */
export const RESUME_RULES: readonly FailureRule[] = [
  {
    id: "thread-in-use",
    on: "stderr",
    pattern: /already has an active writer/,
    code: "storage_error",
    message:
      "Another process has the session's thread open, and CLI B lets only one write to it: the thread was not continued and is kept.",
    remedy: `end the other process and ${TRY_AGAIN}`,
    seenIn: "cli-b/0.169.0/resume-active-writer",
  },
  {
    id: "mcp-required",
    on: "stderr",
    pattern: /required MCP servers failed/,
    code: "config_invalid",
    message: (fact) => `An MCP server that the configuration requires did not start: ${quote(fact)}`,
    remedy: "have the server start, or not be required, and send the turn again",
    seenIn: "docs/contracts/cli-b.md §6",
  },
  {
    id: "resume-configuration",
    on: "stderr",
    pattern: failed("failed to load (?:session )?configuration", "invalid configuration"),
    code: "config_invalid",
    message: (fact) => `CLI B refuses its configuration, and the session's thread is kept: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §6",
  },
  {
    // No process, memory or descriptor: EAGAIN, ENOMEM, ENFILE, EMFILE.
    id: "resume-exhausted",
    on: "stderr",
    pattern: failed(String.raw`\(os error (?:11|12|23|24)\)`),
    code: "resources_exhausted",
    message: (fact) => `CLI B lacked what it needs to open the session's thread, which is kept: ${quote(fact)}`,
    seenIn: "docs/contracts/cli-b.md §4",
  },
  {
    // 0.169.0 says the last where it cannot use a database of its own, with whatever is wrong there.
    id: "resume-storage",
    on: "stderr",
    pattern: failed(
      String.raw`\(os error (?!(?:2|20|21|40)\))\d+\)`,
      String.raw`No space left on device|Disk quota exceeded|Read-only file system|Permission denied|Input/output error`,
      "returned from database|thread history database|database is locked|list_turns is not supported yet",
    ),
    code: "storage_error",
    message: (fact) => `CLI B cannot open the session's thread, which is kept: ${quote(fact)}`,
    remedy: `have the operator look at the session's home and its disk, and ${TRY_AGAIN}`,
    seenIn: "docs/contracts/cli-b.md §4",
  },
  {
    id: "resume-refused",
    on: "stderr",
    pattern: failed(
      "no rollout found for (?:thread|conversation) id",
      String.raw`\(os error (?:2|20|21|40)\)`,
      "rollout at .{1,2000} is empty",
      "(?:session|rollout) metadata",
      "belongs to (?:another )?thread",
      "failed to (?:parse|decode|decompress)",
      "valid UTF-8",
      "is archived",
      "no thread with id|(?:thread|session|conversation|rollout) (?:\\S{1,100} )?(?:is |was )?(?:not found|missing)",
    ),
    code: "resume_degraded",
    message: (fact) => `CLI B cannot continue the session: ${quote(fact)}`,
    seenIn: "cli-b/0.139.0/resume-other-home",
  },
  {
    id: "resume-failed",
    on: "stderr",
    pattern: new RegExp(FAILED),
    code: "crashed",
    message: (fact) => `CLI B could not continue the session's thread, which is kept: ${quote(fact)}`,
    remedy: `${TRY_AGAIN}, or start a new session if it fails again`,
    seenIn: "docs/contracts/cli-b.md §4",
  },
];
