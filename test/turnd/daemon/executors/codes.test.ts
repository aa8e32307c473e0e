import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FailureCode } from "../../../../src/turnd/protocol/index.ts";
import { REPOSITORY } from "../../../harness/temporary.ts";
import { listRecordings } from "./recordings.ts";

/** Codes that turnd alone decides, and the test that reaches each; no recording of a CLI ends with them. */
const BY_TURND: Partial<Record<FailureCode, { readonly file: string; readonly title: string }>> = {
  sandbox_unavailable: {
    file: "test/turnd/daemon/turns/executors/sandbox.test.ts",
    title: "a mode that needs the CLI's sandbox where none can work ends before the CLI starts, with the remedy",
  },
  resources_exhausted: {
    file: "test/turnd/daemon/turns/executors/exhausted.test.ts",
    title: "a turn that cannot be started for want of a process fails with that, and can be sent again",
  },
  start_timeout: {
    file: "test/turnd/daemon/turns/run/watchdog.test.ts",
    title: "a CLI that prints nothing at all ends by the start timeout",
  },
  turn_timeout: { file: "test/turnd/daemon/turns/run/watchdog.test.ts", title: "a busy turn ends by the turn timeout" },
  daemon_stopped: {
    file: "test/turnd/daemon/turns/run/restart.test.ts",
    title: "a turn whose keeper is gone too ends as daemon_stopped, and its session is resumable",
  },
};

/** The codes that fixtures are labelled with first; labels.test.ts and test/replay hold them to their labels. */
const recorded = new Map(
  ["cli-a", "cli-b"].flatMap((executor) =>
    listRecordings(join(REPOSITORY, "fixtures"), executor).map(({ name, expected }) => [expected.code, name] as const),
  ),
);

describe("every failure code is reached", () => {
  test.each(FailureCode.options)("%s", (code) => {
    const byTurnd = BY_TURND[code];
    if (byTurnd === undefined) {
      expect(recorded.get(code), "a fixture of a real CLI").toBeDefined();
      return;
    }
    expect(recorded.get(code), "a code that turnd alone decides").toBeUndefined();
    const source = readFileSync(join(REPOSITORY, byTurnd.file), "utf8");
    // A test that runs as root alone names its title on the next line.
    const at = source.indexOf(`"${byTurnd.title}"`);
    expect(source.slice(0, Math.max(at, 0)), byTurnd.title).toMatch(/\btest(\.runIf\(\w+\))?\(\s*$/);
    const [body = ""] = source.slice(at).split("\n});\n", 1);
    expect(body).toContain(`"${code}"`);
  });
});
