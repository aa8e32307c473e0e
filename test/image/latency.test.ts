import { join } from "node:path";
import { expect, test } from "vitest";
import { describeImage, shareSandbox } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { paced } from "../turnd/daemon/turns/replay/paced-recording.ts";

const PROGRAM = "/opt/compare-arrival.mjs";

describeImage("events through the front", () => {
  const sandbox = shareSandbox(() => ({
    files: { [PROGRAM]: join(REPOSITORY, "test/programs/compare-arrival.mjs") },
  }));

  test("come within 50 ms of turnd's own port", async () => {
    const { body } = await sandbox().request("POST", "/v1/replays", { recording: paced(40, 100), speed: 1 });
    const { output, exitCode } = await sandbox().exec(["node", PROGRAM, body.turn_id, "8091", "8080"]);
    expect([exitCode, output]).toEqual([0, expect.stringMatching(/^\[/)]);
    const later: number[] = JSON.parse(output);
    expect(later.length).toBeGreaterThan(40);
    // Not the slowest: on a loaded machine one of two readers may be put aside for longer.
    const [median = Infinity] = later.toSorted((a, b) => a - b).slice(later.length / 2);
    expect(median).toBeLessThan(50);
  });
});
