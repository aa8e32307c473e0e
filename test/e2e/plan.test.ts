import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { callTool, type Action } from "../../src/scripted-model/tools.ts";
import { PINNED_CLIS, REAL_CLIS, shareStage } from "../harness/real-daemon.ts";
import { userFile } from "../harness/temporary.ts";

const ACTIONS: readonly Action[] = [
  // 1.3.2 of CLI A refuses an edit without a read before it.
  { type: "read", path: "notes.txt" },
  { type: "edit", path: "notes.txt", before: "first line", after: "changed" },
  { type: "run", command: "echo written > by-command.txt", purpose: "Writes a file" },
];

/** Writes a file by a file tool and by a command, as far as tools for it are offered. */
const write: Scenario = (conversation) => {
  const { outcomes } = currentTurn(conversation);
  const next = ACTIONS.flatMap((action) => callTool(action, conversation) ?? [])[outcomes.length];
  return next === undefined ? say("Done.") : { type: "answer", parts: [next], ending: "stop" };
};

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { write } } });
  const { executor } = cli;

  test("a planning turn cannot write, by a file tool or by a command", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    writeFileSync(path, "first line\n");
    userFile(path);
    const { status, failure } = await turnd.run({ executor, mode: "plan", input: "@@write@@" });
    // A machine whose kernel allows no sandbox cannot plan with CLI B, and says so.
    expect(["completed", "sandbox_unavailable"]).toContain(failure?.code ?? status);
    expect(readFileSync(path, "utf8")).toBe("first line\n");
    expect(existsSync(join(turnd.workspace, "by-command.txt"))).toBe(false);
  });
});

describe.each(PINNED_CLIS)("$executor $version", ({ executor, version }) => {
  const stage = shareStage({ executor, version });

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
