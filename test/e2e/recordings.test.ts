import { describe, expect, test } from "vitest";
import { KEY, LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";

// Of turns that were cancelled, resumed after kill -9, or lost their session: stop.test.ts, killed.test.ts, lost-state.test.ts.
// Turns of real CLIs, and two replays of each: minutes on a loaded machine.
const LIMIT = { timeout: 300_000 };

describe.each(LIGHT_CLIS)("$executor $version", LIMIT, (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("an exported turn gives its events again, with tools, resumed, failed, and without the key", async () => {
    const { turnd } = stage();
    const first = await turnd.run({ executor, input: "@@tool-ok:a-word@@" });
    const resumed = await turnd.run({ session_id: first.session_id, input: "@@tool-fail@@" });
    expect(resumed).toMatchObject({ status: "completed", resumed: true });
    for (const { turn_id } of [first, resumed]) {
      const recording = await expectSameAgain(turnd, turn_id);
      expect(recording.turn).toMatchObject({ executor, cli_version: cli.version });
      expect(JSON.stringify(recording)).not.toContain(KEY);
    }
  });
});
