import { readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { openEventLog, type EventLog } from "../../../../src/turnd/daemon/event-log/event-log.ts";
import type { NewEvent } from "../../../../src/turnd/daemon/event-log/sequence.ts";
import { createTail, type WritableTail } from "../../../../src/turnd/daemon/event-log/tail.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";

export const message = (text: string): NewEvent => ({
  type: "message",
  native: { line: 1 },
  data: { message_id: "m", text },
});

/** A log as a turn of CLI B has it, and its tail. */
export async function openLog(
  path: string,
  redact: (line: string) => string = (line) => line,
): Promise<{ log: EventLog; tail: WritableTail }> {
  const tail = createTail(0, 0);
  const log = await openEventLog({
    path,
    tail,
    turnId: "turn-1",
    sessionId: "session-1",
    executor: "cli-b",
    now: () => "2026-11-21T08:00:00.000Z",
    redact,
  });
  return { log, tail };
}

/** Where a log can be made that is gone with the test. */
export const newPath = (): string => join(temporaryDirectory(onTestFinished), "events.jsonl");

/** What stands in the file of a log. */
export const linesOf = (path: string): string[] => readFileSync(path, "utf8").trimEnd().split("\n");

/** Until the test is done no step on the disk is found slow: a loaded machine may take the processor away in one. */
export function keepDiskQuick(): void {
  const clock = vi.spyOn(performance, "now").mockReturnValue(Number.MAX_SAFE_INTEGER);
  onTestFinished(() => clock.mockRestore());
}
