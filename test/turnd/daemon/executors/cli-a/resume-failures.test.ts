import { expect, test } from "vitest";
import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type { FailureDraft } from "../../../../../src/turnd/daemon/executors/contract/failures.ts";

const SESSION = "ses_de7ef7965ffedO093Et5bumyOo";
const UNEXPECTED = "\u001b[91m\u001b[1mError: \u001b[0mUnexpected error";

/** A process that was to continue a session, printed nothing, and ended so. */
function resume(stderr: readonly string[], code = 1): FailureDraft | undefined {
  const translator = cliA.createTranslator({ requestedSession: SESSION });
  stderr.forEach((text, index) => translator.push({ source: "stderr", number: index + 1, text, isTruncated: false }));
  return translator.end({ exit: { code, signal: null }, wasStopped: false }).failure;
}

const fatal = (statement: string, cause: string): string =>
  `ERROR 2026-11-26T13:32:49 +64ms service=default name=DrizzleError message=Failed to run the query '${statement}' cause=SQLiteError: ${cause} stack=DrizzleError: Failed to run the query '${statement}' fatal`;

/** What each measured version prints, with the fault made for it. */
test.each([
  ["1.3.2, a store that may not be read", ["unable to open database file"]],
  [
    "1.3.2, a full disk",
    [
      fatal("PRAGMA wal_checkpoint(PASSIVE)", "database or disk is full"),
      UNEXPECTED,
      "",
      "Failed to run the query 'PRAGMA wal_checkpoint(PASSIVE)'",
    ],
  ],
  [
    "1.14.34, a store that may not be written, without a log",
    [UNEXPECTED, "", "Failed to run the query 'PRAGMA wal_checkpoint(PASSIVE)'"],
  ],
  [
    "1.14.34, a disk that fails",
    [
      fatal("PRAGMA journal_mode = WAL", "disk I/O error"),
      UNEXPECTED,
      "",
      "Failed to run the query 'PRAGMA journal_mode = WAL'",
    ],
  ],
  ["1.14.34, a store that another process holds", [UNEXPECTED, "", "database is locked"]],
  ["1.18.33, a full disk", [UNEXPECTED, "", "Failed query: PRAGMA wal_checkpoint(PASSIVE)", "params: "]],
  [
    "1.18.33, a store that another process holds",
    [UNEXPECTED, "", 'Failed query: insert into "project" ("id") values (?)', "params: global"],
  ],
  [
    "1.18.33, a log that may not be written",
    [UNEXPECTED, "", "EACCES: permission denied, open '/home/sandbox/data/opencode/log/opencode.log'"],
  ],
])("a resume keeps its session: %s", (_, stderr) => {
  expect(resume(stderr)).toMatchObject({ code: "storage_error", isProven: true });
});

test.each([
  [
    "1.3.2, a store that is none",
    [
      fatal("PRAGMA journal_mode = WAL", "file is not a database"),
      UNEXPECTED,
      "",
      "Failed to run the query 'PRAGMA journal_mode = WAL'",
    ],
  ],
  ["1.18.33, a store that is none", [UNEXPECTED, "", "file is not a database"]],
  ["1.18.33, a session that it does not know", ["\u001b[91m\u001b[1mError: \u001b[0mSession not found"]],
])("a history that is missing or cannot be read is given up: %s", (_, stderr) => {
  expect(resume(stderr)?.code).toBe("resume_degraded");
});

test("a configuration that cannot be used is no lost session", () => {
  const stderr = ["\u001b[91m\u001b[1mError: \u001b[0mConfig file at /home/sandbox/config.json is not valid JSON(C): "];
  expect(resume(stderr)?.code).toBe("config_invalid");
});

test("an end that nothing explains is no lost session, but one without a word and with exit code 0 is", () => {
  expect(resume([UNEXPECTED])?.code).toBe("crashed");
  expect(resume([])?.code).toBe("crashed");
  expect(resume([], 0)?.code).toBe("resume_degraded");
});
