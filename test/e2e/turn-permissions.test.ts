import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { callTool, type Action } from "../../src/scripted-model/tools.ts";
import { PINNED_CLIS, shareStage } from "../harness/real-daemon.ts";
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

describe.each(PINNED_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { write } } });
  const { executor } = cli;

  test("a turn's own permissions bind that turn alone, and give back nothing that its session denies", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    const byCommand = join(turnd.workspace, "by-command.txt");
    writeFileSync(path, "first line\n");
    userFile(path);
    const denied = { edit: "deny", execute: "deny" };
    const { body: open } = await turnd.request("POST", "/v1/sessions", { executor });
    const { session_id } = open;
    const { status, failure } = await turnd.run({ session_id, input: "@@write@@", permissions: denied });
    // A machine whose kernel allows no sandbox cannot deny edits with CLI B, and says so.
    expect(["completed", "sandbox_unavailable"]).toContain(failure?.code ?? status);
    expect(readFileSync(path, "utf8")).toBe("first line\n");
    expect(existsSync(byCommand)).toBe(false);

    const { body: closed } = await turnd.request("POST", "/v1/sessions", { executor, permissions: denied });
    await turnd.run({ session_id: closed.session_id, input: "@@write@@", permissions: {} });
    expect(readFileSync(path, "utf8")).toBe("first line\n");
    expect(existsSync(byCommand)).toBe(false);

    await turnd.run({ session_id, input: "@@write@@" });
    expect(readFileSync(path, "utf8")).toBe("changed\n");
    expect(existsSync(byCommand)).toBe(true);
  });
});
