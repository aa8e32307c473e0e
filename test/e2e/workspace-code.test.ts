import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import type { Action } from "../../src/scripted-model/tools.ts";
import { startClosedProxy } from "../harness/closed-proxy.ts";
import { HOSTILE_TEXT, makeHostileRepository, type HostileRepository } from "../harness/hostile-repository.ts";
import { CLIS_A, NEWEST_CLI_A, shareStage } from "../harness/real-daemon.ts";
import { userDirectory } from "../harness/temporary.ts";

/** Runs the command that stands in its prompt; the turn goes on for as long as the command does. */
const command: Scenario = (conversation, { argument }) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say("Done.");
  return act(conversation, toCommand(argument));
};
/** The same, then an edit of the workspace's own configuration: a tool reads and writes such files as any other. */
const commandAndEdit: Scenario = (conversation, { argument }) => {
  const path = "opencode.json";
  const actions: readonly Action[] = [
    toCommand(argument),
    { type: "read", path },
    { type: "edit", path, before: '"instructions"', after: '"edited"' },
  ];
  const next = actions[currentTurn(conversation).outcomes.length];
  return next === undefined ? say("Done.") : act(conversation, next);
};
const toCommand = (argument: string): Action => ({
  type: "run",
  command: Buffer.from(argument, "base64").toString(),
  purpose: "Works",
});
const run = (text: string): string => `@@command:${Buffer.from(text).toString("base64")}@@`;
const WAITS = run("sleep 2");

describe.each(CLIS_A)("$version as it is served", async (cli) => {
  const proxy = await startClosedProxy();
  afterAll(() => proxy.close());
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };
  const stage = shareStage(cli, { env, model: { scenarios: { command, "command-and-edit": commandAndEdit } } });
  let hostile: HostileRepository | undefined;
  const repository = (): HostileRepository =>
    (hostile ??= makeHostileRepository(userDirectory(join(stage().turnd.workspace, "places"))));

  test("a turn runs no code of its workspace, and a plugin that it writes runs neither now nor later", async () => {
    const { turnd, model } = stage();
    const { plain, linked, lateCommand, drainRan } = repository();
    const first = await turnd.run({
      executor: "cli-a",
      workspace: plain,
      input: run(`env > env.txt; ${lateCommand}`).replace("command", "command-and-edit"),
    });
    expect(first.status).toBe("completed");
    // The guard is no business of what a tool starts.
    expect(readFileSync(join(plain, "env.txt"), "utf8")).not.toMatch(/BUN_|GUARD/);
    const { session_id } = first;
    expect(readFileSync(join(plain, "opencode.json"), "utf8")).toContain('"edited"');
    // By a link to it.
    const resumed = await turnd.run({ session_id, workspace: linked, mode: "plan", input: "@@text@@" });
    expect(resumed).toMatchObject({ status: "completed", session_id });
    expect(drainRan()).toEqual([]);
    expect(proxy.asked).toEqual([]);
    const sent = JSON.stringify(model.requests);
    expect(sent).toContain("env.txt");
    expect(sent).not.toContain(HOSTILE_TEXT);
  });

  test("nor any of a repository, below it or in a further work tree, which stay as they were", async () => {
    const { turnd } = stage();
    const { repository: root, nested, worktree, drainRan } = repository();
    const states = (): string[] =>
      [root, worktree].map((cwd) =>
        execFileSync("git", ["-c", "safe.directory=*", "status", "--short"], { cwd, encoding: "utf8" }),
      );
    const before = states();
    const turns = [nested, worktree].map((workspace) => turnd.run({ executor: "cli-a", workspace, input: WAITS }));
    for (const { status } of await Promise.all(turns)) expect(status).toBe("completed");
    expect(drainRan()).toEqual([]);
    expect(states()).toEqual(before);
    expect(proxy.asked).toEqual([]);
  });
});

describe.each([NEWEST_CLI_A])("$version with TURND_ALLOW_WORKSPACE_PLUGINS=1", async (cli) => {
  const proxy = await startClosedProxy();
  afterAll(() => proxy.close());
  const env = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url, TURND_ALLOW_WORKSPACE_PLUGINS: "1" };
  const stage = shareStage(cli, { env, model: { scenarios: { command } } });

  test("all of them run: what keeps them out is turnd", async () => {
    const { turnd } = stage();
    const { plain, nested, worktree, lateCommand, drainRan } = makeHostileRepository(
      userDirectory(join(turnd.workspace, "places")),
    );
    const places = [
      [plain, run(lateCommand)],
      [nested, WAITS],
      [worktree, WAITS],
    ] as const;
    const turns = places.map(([workspace, input]) => turnd.run({ executor: "cli-a", workspace, input }));
    for (const { status } of await Promise.all(turns)) expect(status).toBe("completed");
    expect(await turnd.run({ executor: "cli-a", workspace: plain, input: WAITS })).toMatchObject({
      status: "completed",
    });
    expect(drainRan()).toEqual([
      "command of git",
      "directory of above",
      "directory of nested",
      "directory of plain",
      "directory of worktree",
      "inner json of plain",
      "json of above",
      "json of nested",
      "json of plain",
      "json of worktree",
      "jsonc of plain",
      "linked directory of repository",
      "mapped module of plain",
      "module above worktree",
      "module of nested",
      "second directory of plain",
      "written by a tool",
    ]);
    expect(proxy.asked.join("\n")).toContain("CONNECT registry.npmjs.org:443");
  });
});
