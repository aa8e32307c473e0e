import { expect, test } from "vitest";
import { timeEnd } from "../../../../../src/turnd/daemon/turns/outcome/end.ts";

const startedAt = "2026-11-26T12:00:00.000Z";

test.each([
  ["that stays", "2026-11-26T12:00:02.000Z", "2026-11-26T12:00:02.000Z"],
  ["that is set eight days forward", "2026-12-04T12:00:02.000Z", "2026-12-04T12:00:02.000Z"],
  ["that is set back", "2026-11-18T12:00:02.000Z", "2026-11-26T12:00:02.000Z"],
])("with a clock %s a turn of two seconds ran two seconds, and does not end before its start", (_, now, at) => {
  expect(timeEnd({ startedAt, ranMs: 2_000.4, now: new Date(now) })).toEqual({ at, durationMs: 2_000 });
});

test("where another daemon started it the clock decides, and it never ends before its start", () => {
  const end = (now: string) => timeEnd({ startedAt, ranMs: undefined, now: new Date(now) });
  expect(end("2026-11-26T13:00:00.000Z")).toEqual({ at: "2026-11-26T13:00:00.000Z", durationMs: 3_600_000 });
  expect(end("2026-11-26T11:00:00.000Z")).toEqual({ at: startedAt, durationMs: 0 });
});
