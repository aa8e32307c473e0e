import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import type { Action } from "../../src/scripted-model/tools.ts";
import { REAL_CLIS, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, userFile } from "../harness/temporary.ts";

const ACTIONS: readonly Action[] = [
  { type: "run", command: "echo partial; echo broken >&2; exit 3", purpose: "Fails" },
  { type: "run", command: "echo a-word", purpose: "Succeeds" },
  // 1.3.2 of CLI A refuses an edit without a read before it.
  { type: "read", path: "notes.txt" },
  { type: "edit", path: "notes.txt", before: "first line", after: "first line (edited)" },
];

/** One action after the other, then all that they gave. */
const work: Scenario = (conversation) => {
  const { outcomes } = currentTurn(conversation);
  const next = ACTIONS[outcomes.length];
  return next === undefined ? say(outcomes.map(({ output }) => output).join("\n")) : act(conversation, next);
};

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli, { model: { scenarios: { work } } });
  const { executor } = cli;

  test("a text turn completes, its prompt reaches the model as it is, and its events tell it from start to end", async () => {
    const { turnd } = stage();
    // Looks like an option, and like what shells and CLIs replace.
    const prompt = '--help "quoted" $HOME `id` @file /init\n- second line @@echo@@';
    const result = await turnd.run({ executor, input: prompt });
    expect(result).toMatchObject({
      status: "completed",
      resumed: false,
      degraded: false,
      exit: { code: 0, signal: null },
      counts: { unknown: 0, retries: 0, tools: 0 },
    });
    expect(result.output?.trim()).toBe(prompt);
    expect(result.usage?.output_tokens).toBeGreaterThan(0);
    const events = await turnd.events(result.turn_id);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    // CLI B prints no steps.
    expect(events.map(({ type }) => type).filter((type) => !type.startsWith("step."))).toEqual([
      "turn.started",
      "session.bound",
      "message",
      "turn.ended",
    ]);
    expect(events[0]).toMatchObject({ executor, data: { cli: { version: cli.version }, mode: "execute" } });
  });

  test("a command that fails, one that succeeds and an edit are reported with exit code, output and `changes`, and the turn goes on", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    writeFileSync(path, "first line\nsecond line\n");
    userFile(path);
    const result = await turnd.run({ executor, input: "@@work@@" });
    expect(result).toMatchObject({ status: "completed", counts: { tools: 4 } });
    const ended = (await turnd.events(result.turn_id)).flatMap((event) =>
      event.type === "tool.ended" ? [event.data] : [],
    );
    expect(ended).toMatchObject([
      { kind: "execute", status: "failed", exit_code: 3 },
      { kind: "execute", status: "completed", exit_code: 0 },
      { status: "completed" },
      { status: "completed", changes: [{ path, change: "update" }] },
    ]);
    // Both of its outputs, in whichever order the CLI read them.
    expect(ended[0]?.output?.text.trim().split("\n").toSorted()).toEqual(["broken", "partial"]);
    expect(ended[1]?.output?.text.trim()).toBe("a-word");
    // What the model was given.
    expect(result.output).toMatch(/partial|broken/);
    expect(result.output).toContain("a-word");
    expect(readFileSync(path, "utf8")).toBe("first line (edited)\nsecond line\n");
    expect(statSync(path).uid).toBe(CLI_USER.uid);
  });
});
