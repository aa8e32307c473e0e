import { expect, test } from "vitest";
import { z } from "zod";
import { fakeDaemon } from "../../../../harness/fake-daemon.ts";
import { waitFor } from "../../../../harness/wait-for.ts";

const Line = z.looseObject({ level: z.number(), msg: z.string(), turnId: z.string().optional() });
const WARN = 40;
const TRACE = "0af7651916cd43dd8448eb211c80319c";

test("a failed turn has one line in the log that names it, its session, its trace, the code and the evidence", async () => {
  const turnd = await fakeDaemon();
  const headers = { traceparent: `00-${TRACE}-b7ad6b7169203331-01` };
  const body = { executor: "cli-b", input: "stderr key is FAKE-KEY-FOR-TESTS: out of order\nexit 3" };
  const { turn_id, session_id } = (await turnd.request("POST", "/v1/turns?wait_ms=60000", body, headers)).body;
  const done = await turnd.run({ executor: "cli-b", input: "hello" });
  const lines = await waitFor("both ends", () => {
    const all = turnd.log.map((line) => Line.parse(JSON.parse(line)));
    return all.filter(({ msg }) => msg === "turn ended").length === 2 && all;
  });
  const failed = lines.filter(({ turnId, level }) => turnId === turn_id && level >= WARN);
  expect(failed).toEqual([
    expect.objectContaining({
      msg: "turn ended",
      turnId: turn_id,
      sessionId: session_id,
      traceId: TRACE,
      executor: "cli-b",
      status: "failed",
      code: "crashed",
      reason: expect.any(String),
      evidence: { source: expect.stringMatching(/^(exit|stderr)$/), text: expect.any(String) },
      durationMs: expect.any(Number),
    }),
  ]);
  expect(JSON.stringify(lines)).not.toContain("FAKE-KEY-FOR-TESTS");
  const completed = lines.find(({ turnId, msg }) => turnId === done.turn_id && msg === "turn ended");
  expect(completed).toMatchObject({ level: 30, sessionId: done.session_id, status: "completed" });
  expect(completed).not.toHaveProperty("traceId");
});

test("whatever is logged of a turn names its session", async () => {
  const turnd = await fakeDaemon({ TURND_LOG_LEVEL: "trace" });
  const { turn_id } = await turnd.admit({ executor: "cli-b", input: "hang" });
  await waitFor("its start", async () => (await turnd.events(turn_id)).length > 0);
  await turnd.request("POST", `/v1/turns/${turn_id}/cancel`);
  const own = await waitFor("its end", () => {
    const lines = turnd.log.map((line) => Line.parse(JSON.parse(line))).filter(({ turnId }) => turnId === turn_id);
    return lines.some(({ msg }) => msg === "turn ended") && lines;
  });
  expect(own.length).toBeGreaterThan(1);
  expect(own.filter((line) => typeof line["sessionId"] !== "string")).toEqual([]);
});
