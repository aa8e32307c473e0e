import { describe, expect, test } from "vitest";
import { processesNaming } from "../harness/processes.ts";
import { LIGHT_CLIS, shareStage } from "../harness/real-daemon.ts";
import { expectSameAgain } from "../harness/same-again.ts";
import { waitFor } from "../harness/wait-for.ts";

/** More than 300 seconds, and a number of this test only: found again in the arguments of processes. */
const SECONDS = 300_000 + (process.pid % 100_000);

describe.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("cancel in the middle of a command answers when its tree is empty, the turn's export gives its events again, and the session goes on", async () => {
    const { turnd } = stage();
    const { turn_id, session_id } = await turnd.admit({ executor, input: `@@sleep:${SECONDS}@@` });
    await waitFor("the command", () => processesNaming(`sleep\0${SECONDS}`).length > 0);
    const { native_session_id } = (await turnd.request("GET", `/v1/sessions/${session_id}`)).body;

    const receipt = (await turnd.request("POST", `/v1/turns/${turn_id}/cancel`)).body;
    expect(processesNaming(String(SECONDS))).toEqual([]);
    expect(processesNaming(turn_id, "anywhere")).toEqual([]);
    expect(receipt).toMatchObject({ turn_id, status: "cancelled", already_ended: false });
    expect(receipt.ended).toContainEqual(expect.objectContaining({ signal: "SIGINT" }));

    const result = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
    expect(result).toMatchObject({ status: "cancelled", cancelled_by: "request", native_session_id });
    expect(await expectSameAgain(turnd, turn_id)).toMatchObject({ turn: { ended_by: "cancel" } });
    expect(await turnd.run({ session_id, input: "@@text:Here again.@@" })).toMatchObject({
      status: "completed",
      output: "Here again.",
      resumed: true,
      degraded: false,
      native_session_id,
    });
  });

  test("a steer stops the running turn at a step boundary and goes on in its native session", async () => {
    const { turnd } = stage();
    const running = await turnd.admit({ executor, input: "Take your time. @@many:40:1@@" });
    const { session_id } = running;
    await waitFor("the first call", async () =>
      (await turnd.events(running.turn_id)).some((event) => event.type === "tool.ended"),
    );
    const steered = await turnd.run({ session_id, queue_policy: "steer", input: "Never mind. @@recall@@" });

    const result = (await turnd.request("GET", `/v1/turns/${running.turn_id}/result`)).body;
    expect(result).toMatchObject({ status: "cancelled", cancelled_by: "steer" });
    // At a boundary nothing is under way: whatever was reported as started has ended by itself.
    const ended = (await turnd.events(running.turn_id)).filter((event) => event.type === "tool.ended");
    expect(ended.length).toBeLessThan(40);
    expect(new Set(ended.map(({ data }) => data.status))).toEqual(new Set(["completed"]));
    expect(steered).toMatchObject({
      status: "completed",
      resumed: true,
      degraded: false,
      native_session_id: result.native_session_id,
    });
    expect(JSON.parse(steered.output ?? "").said).toEqual(["Take your time. @@many:40:1@@"]);
  });
});
