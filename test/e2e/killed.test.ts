import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { TestDaemon } from "../harness/daemon.ts";
import { LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";
import { waitFor } from "../harness/wait-for.ts";

/** Asserts that a turn of so many calls is reported whole: no event missing, none twice, the digest right. */
async function expectWhole(turnd: TestDaemon, directory: string, turnId: string, calls: number): Promise<void> {
  for await (const frame of turnd.follow(turnId)) if (frame.event === "end") break;
  const events = await turnd.events(turnId);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  const steps = events.flatMap((event) => (event.type === "tool.ended" ? [event.data.output?.text.trim()] : []));
  expect(steps).toEqual(Array.from({ length: calls }, (_, index) => `step ${index + 1} of ${calls}`));
  for (const type of ["turn.started", "session.bound", "message", "turn.ended"]) {
    expect(events.filter((event) => event.type === type)).toHaveLength(1);
  }
  const lines = readFileSync(join(directory, "events.jsonl"), "utf8").trimEnd().split("\n");
  const digest = createHash("sha256")
    .update(`${lines.slice(0, -1).join("\n")}\n`)
    .digest("hex");
  expect(events.at(-1)).toMatchObject({
    type: "turn.ended",
    data: { status: "completed", output: `Made ${calls} calls.`, exit: { code: 0, signal: null }, digest },
  });
}

describe.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("a turn is resumed after kill -9 of turnd: no event lost, none twice, and its export gives them again", async () => {
    const { turn_id, session_id } = await stage().turnd.admit({ executor, input: "@@many:5:1@@" });
    for (const calls of [1, 3]) {
      await waitFor(`call ${calls}`, async () => {
        const events = await stage().turnd.events(turn_id);
        return events.filter((event) => event.type === "tool.ended").length >= calls;
      });
      await stage().end("SIGKILL");
      await stage().start();
    }
    const { turnd } = stage();
    await expectWhole(turnd, join(turnd.state, "sessions", session_id, "turns", turn_id), turn_id, 5);
    expect((await expectSameAgain(turnd, turn_id)).exit).toEqual({ code: 0, signal: null });
    expect(await turnd.run({ session_id, input: "@@text@@" })).toMatchObject({ status: "completed", resumed: true });
  });

  test("a turn that ended while turnd was away is reported whole, its exit status too", async () => {
    const { turnd } = stage();
    const { turn_id, session_id } = await turnd.admit({ executor, input: "@@many:3:1@@" });
    await waitFor("the first call", async () =>
      (await turnd.events(turn_id)).some((event) => event.type === "tool.ended"),
    );
    await stage().end("SIGKILL");
    const directory = join(turnd.state, "sessions", session_id, "turns", turn_id);
    await waitFor("the end of the CLI", () =>
      access(join(directory, "exit.json")).then(
        () => true,
        () => false,
      ),
    );
    await stage().start();
    await expectWhole(stage().turnd, directory, turn_id, 3);
  });
});
