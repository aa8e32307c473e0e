import { expect, test } from "vitest";
import { parseEvent } from "../../../../src/turnd/client/parse-event.ts";
import { translate } from "../../../../src/service/runs/work/translate.ts";

const ENVELOPE = { v: 1, seq: 3, at: "2026-01-01T00:00:00Z", turn_id: "t", session_id: "s", executor: "cli-b" };

test.each([
  ["has another shape", JSON.stringify({ ...ENVELOPE, type: "message", data: { content: "Done." } }), "bad_shape"],
  ["is no JSON", "Done.", "not_json"],
])("an event that %s is kept as it came, in its place", (_case, line, reason) => {
  expect(translate(parseEvent({ line, id: "3" }, 3), 1)).toEqual([
    {
      event: "custom",
      payload: { name: "svc.unknown_record", reason, line },
      native: { turn_seq: 3, type: "unreadable" },
    },
  ]);
});
