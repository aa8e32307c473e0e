import { describe, expect, test } from "vitest";
import { CLIS_A, NEWEST_CLI_A, shareStage } from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";

const TEXT = "One word after another, and all of them at once. ".repeat(40).trim();
/** These lose their answer in four of five such turns. 1.18.33 lost none in 12 turns. */
const LOSES = CLIS_A.filter(({ version }) => version !== NEWEST_CLI_A.version);
const MAX_TURNS = 20;

describe.each(LOSES)(
  "$executor $version and a provider that sends its answer all at once",
  { timeout: 240_000 },
  (cli) => {
    const stage = shareStage(cli, { model: { frameGapMs: 0, thinkMs: 0 } });

    test("what the CLI has not printed is taken from its store: no answer is lost, and the turn reports it", async () => {
      const { turnd } = stage();
      let session: { session_id?: string } = {};
      for (let turn = 0; turn < MAX_TURNS; turn += 1) {
        const target = session.session_id === undefined ? { executor: "cli-a" } : session;
        const result = await turnd.run({ ...target, input: `@@text:${TEXT}@@` });
        expect(result).toMatchObject({ status: "completed", output: TEXT });
        session = { session_id: result.session_id };
        const events = await turnd.events(result.turn_id);
        const recovered = events.filter(({ data }) => "code" in data && data.code === "output_recovered");
        if (recovered.length > 0) {
          expect(events.filter(({ type }) => type === "message")).toHaveLength(1);
          await expectSameAgain(turnd, result.turn_id);
          return;
        }
      }
      throw new Error(`the CLI printed all it had in each of ${MAX_TURNS} turns: is this path still needed?`);
    });
  },
);

describe("the newest CLI A and a provider that sends its answer all at once", () => {
  const stage = shareStage(NEWEST_CLI_A, { model: { frameGapMs: 0, thinkMs: 0 } });

  test("an answer is whole, and reported once", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor: "cli-a", input: `@@text:${TEXT}@@` });
    expect(result).toMatchObject({ status: "completed", output: TEXT });
    expect((await turnd.events(result.turn_id)).filter(({ type }) => type === "message")).toHaveLength(1);
  });
});
