import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

/** Only root runs the CLIs as another user. */
const IS_ROOT = process.getuid?.() === 0;

test.runIf(IS_ROOT)(
  "a turn whose home cannot be prepared is one failure in the log, with turn and session",
  async () => {
    const turnd = await fakeDaemon();
    const { session_id } = await turnd.run({ executor: "cli-b", input: "hello" });
    chmodSync(join(turnd.state, "sessions", session_id), 0o700);
    const { turn_id, failure } = await turnd.run({ session_id, input: "hello" });
    expect(failure).toMatchObject({ code: "storage_error" });
    const linesOf = (): Record<string, unknown>[] =>
      turnd.log.filter((line) => line.includes(turn_id)).map((line) => JSON.parse(line));
    await waitFor("the line of its end", () => linesOf().some(({ msg }) => msg === "turn ended"));
    expect(linesOf().filter(({ code }) => code !== undefined)).toEqual([
      expect.objectContaining({ msg: "turn ended", code: "storage_error", turnId: turn_id, sessionId: session_id }),
    ]);
    expect(linesOf().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);
