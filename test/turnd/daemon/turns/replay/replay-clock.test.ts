import { expect, test } from "vitest";
import { inProcessDaemon } from "../../../../harness/in-process.ts";
import { paced } from "./paced-recording.ts";

test("a recording whose clock was set back takes no longer than its lines are apart", async () => {
  const turnd = await inProcessDaemon();
  const { timeline: _, ...recording } = paced(1, 0);
  const [now, back, hour] = ["2026-01-01T00:00:00.000Z", "1970-01-01T00:00:00.000Z", "2026-01-01T01:00:00.000Z"];
  const lines = (...times: string[]) => times.map((at, index) => ({ type: "line", at, line: index + 1 }));
  const [first, second, third] = lines(now, now, now);
  const setBack = [first, { type: "started", at: back }, second, { type: "ended", at: back }, third];
  const answer = await turnd.request("POST", "/v1/replays?wait_ms=60000", {
    recording: { ...recording, timeline: setBack },
    speed: 1,
  });
  expect(answer.body).toMatchObject({ status: "completed", output: "message 1" });

  const refusals = [
    [{ type: "warning", at: hour, code: "processes_left", message: "1 (sh)" }, { type: "started", at: back }, first],
    lines(back, now, back),
  ].map((timeline) => turnd.request("POST", "/v1/replays", { recording: { ...recording, timeline }, speed: 1 }));
  for (const { status, body } of await Promise.all(refusals)) {
    expect([status, body.detail.fields?.[0].path]).toEqual([422, "speed"]);
  }
});
