import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { REAL_CLIS, shareStage } from "../harness/real-daemon.ts";
import { userFile } from "../harness/temporary.ts";

/** Writes a file by a command, whatever the file tools may do. */
const command: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(`The command gave: ${outcome.output}`);
  return act(conversation, { type: "run", command: "echo written > by-command.txt", purpose: "Writes a file" });
};

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { command } } });
  const { executor } = cli;

  test("a planning turn cannot write, by a file tool or by a command", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    writeFileSync(path, "first line\n");
    userFile(path);
    for (const input of ["@@edit@@", "@@command@@"]) {
      const { status, failure } = await turnd.run({ executor, mode: "plan", input });
      // A machine whose kernel allows no sandbox cannot plan with CLI B, and says so.
      expect(["completed", "sandbox_unavailable"]).toContain(failure?.code ?? status);
    }
    expect(readFileSync(path, "utf8")).toBe("first line\n");
    expect(existsSync(join(turnd.workspace, "by-command.txt"))).toBe(false);
  });

  test("the scripted model plans where it may only read, and carries the plan out when it is approved", async () => {
    const { turnd } = stage();
    const plan = await turnd.run({ executor, mode: "plan", input: "Add a test." });
    // A machine whose kernel allows no sandbox cannot plan with CLI B.
    if (plan.failure?.code === "sandbox_unavailable") return;
    expect(plan.output).toMatch(/^I am turnd's scripted model: [^]*This is a plan; nothing has been changed yet\./);
    const { session_id } = plan;
    const carriedOut = await turnd.run({ session_id, input: "The plan is approved. Carry it out." });
    expect(carriedOut.output).toBe("I created `sum.sh` and ran it. It printed: the sum of 1 to 10 is 55");
  });
});
