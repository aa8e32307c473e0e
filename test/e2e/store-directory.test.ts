import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqlite } from "../../src/turnd/daemon/state-index/sqlite.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { CLIS_A, NEWEST_CLI_A, shareStage } from "../harness/real-daemon.ts";
import { giveToUser, userDirectory, userFile } from "../harness/temporary.ts";

/** Reads one file, wherever it is, and answers with what the tool gave. */
const look: Scenario = (conversation, { argument }) => {
  const [outcome] = currentTurn(conversation).outcomes;
  return outcome === undefined ? act(conversation, { type: "read", path: argument }) : say(outcome.output);
};
const OUTSIDE = "what lies outside of the workspace";

describe.each(CLIS_A)("$version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { look } }, env: { TURND_IDLE_TIMEOUT_MS: "90000" } });

  /** A directory beside the workspace, with one file. */
  function makeOutside(): string {
    const outside = userDirectory(join(stage().directory, "outside"));
    writeFileSync(join(outside, "notes.txt"), `${OUTSIDE}\n`);
    userFile(join(outside, "notes.txt"));
    return outside;
  }

  test("a directory that a tool wrote into the CLI's store moves no later turn out of its workspace", async () => {
    const { turnd, model } = stage();
    const outside = makeOutside();
    const { session_id, native_session_id } = await turnd.run({ executor: "cli-a", input: "@@text:Noted.@@" });
    const data = join(turnd.state, "sessions", session_id, "home/data");
    const store = openSqlite(join(data, "opencode/opencode.db"));
    const columns = store.prepare("PRAGMA table_info(session)").all();
    for (const name of ["directory", "path"]) {
      if (columns.some((column) => column["name"] === name))
        store.prepare(`UPDATE session SET ${name} = ?`).run(outside);
    }
    store.prepare("UPDATE project SET worktree = ?, sandboxes = ?").run(outside, JSON.stringify([outside, "/"]));
    store.close();
    giveToUser(data);
    const resumed = { status: "completed", native_session_id, resumed: true, degraded: false };
    const before = model.requests.length;
    const input = `@@look:${join(outside, "notes.txt")}@@`;
    expect(await turnd.run({ session_id, mode: "plan", input })).toMatchObject(resumed);
    const permissions = { execute: "deny" };
    expect(await turnd.run({ session_id, permissions, input: `@@edit:${join(outside, "notes.txt")}@@` })).toMatchObject(
      resumed,
    );
    expect(JSON.stringify(model.requests.slice(before))).not.toContain(OUTSIDE);
    expect(readFileSync(join(outside, "notes.txt"), "utf8")).toBe(`${OUTSIDE}\n`);
  });

  test("a turn that names another workspace works in it, in a repository as well, and the session goes on", async () => {
    const { turnd } = stage();
    const [plain = "", repository = ""] = ["plain", "repository"].map((name) => {
      const path = userDirectory(join(turnd.workspace, name));
      writeFileSync(join(path, "notes.txt"), `${name}\n`);
      userFile(join(path, "notes.txt"));
      return path;
    });
    execFileSync("git", ["init", "--quiet"], { cwd: repository });
    giveToUser(repository);
    const first = await turnd.run({ executor: "cli-a", workspace: plain, input: "@@edit@@" });
    expect(first.status).toBe("completed");
    const { session_id, native_session_id } = first;
    for (const workspace of [repository, plain]) {
      const result = await turnd.run({ session_id, workspace, input: "@@edit@@" });
      expect(result).toMatchObject({ status: "completed", native_session_id, resumed: true, degraded: false });
    }
    expect(readFileSync(join(repository, "notes.txt"), "utf8")).toBe("repository (edited)\n");
    expect(readFileSync(join(plain, "notes.txt"), "utf8")).toBe("plain (edited) (edited)\n");
  });
});

describe("what keeps it in the workspace is turnd's guard:", () => {
  const env = { TURND_ALLOW_WORKSPACE_PLUGINS: "1", TURND_START_TIMEOUT_MS: "45000" };
  const stage = shareStage(NEWEST_CLI_A, { env });

  test("without it the CLI works where the session began and prints nothing, which the start clock ends", async () => {
    const { turnd } = stage();
    const [first = "", second = ""] = ["first", "second"].map((name) => userDirectory(join(turnd.workspace, name)));
    const { session_id } = await turnd.run({ executor: "cli-a", workspace: first, input: "@@text@@" });
    const { failure } = await turnd.run({ session_id, workspace: second, input: "@@text@@" });
    expect(failure?.code).toBe("start_timeout");
  });
});
