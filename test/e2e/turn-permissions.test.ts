import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { PINNED_CLIS, shareStage } from "../harness/real-daemon.ts";
import { userFile } from "../harness/temporary.ts";

/** Writes a file by a command, whatever the file tools may do. */
const command: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(`The command gave: ${outcome.output}`);
  return act(conversation, { type: "run", command: "echo written > by-command.txt", purpose: "Writes a file" });
};

describe.each(PINNED_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { command } } });
  const { executor } = cli;

  test("a turn's own permissions bind that turn alone, and give back nothing that its session denies", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    const byCommand = join(turnd.workspace, "by-command.txt");
    writeFileSync(path, "first line\n");
    userFile(path);
    const denied = { edit: "deny", execute: "deny" };
    const { body: open } = await turnd.request("POST", "/v1/sessions", { executor });
    for (const input of ["@@edit@@", "@@command@@"]) {
      const body = { session_id: open.session_id, input, permissions: denied };
      const { status, failure } = await turnd.run(body);
      // A machine whose kernel allows no sandbox cannot deny edits with CLI B, and says so.
      expect(["completed", "sandbox_unavailable"]).toContain(failure?.code ?? status);
    }
    expect(readFileSync(path, "utf8")).toBe("first line\n");
    expect(existsSync(byCommand)).toBe(false);

    await turnd.run({ session_id: open.session_id, input: "@@command@@" });
    expect(existsSync(byCommand)).toBe(true);

    const { body: closed } = await turnd.request("POST", "/v1/sessions", { executor, permissions: denied });
    await turnd.run({ session_id: closed.session_id, input: "@@edit@@", permissions: {} });
    expect(readFileSync(path, "utf8")).toBe("first line\n");
  });
});
