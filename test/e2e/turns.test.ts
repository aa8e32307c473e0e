import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { REAL_CLIS, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, userFile } from "../harness/temporary.ts";

describe.each(REAL_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("a text turn completes, and its events tell it from start to end", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor, input: "@@text:A short answer.@@" });
    expect(result).toMatchObject({
      status: "completed",
      output: "A short answer.",
      resumed: false,
      degraded: false,
      exit: { code: 0, signal: null },
      counts: { unknown: 0, retries: 0, tools: 0 },
    });
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

  test("a prompt that looks like an option reaches the model as it is", async () => {
    const prompt = '--help "quoted" $HOME `id` @file /init\n- second line @@echo@@';
    const result = await stage().turnd.run({ executor, input: prompt });
    expect(result).toMatchObject({ status: "completed" });
    expect(result.output?.trim()).toBe(prompt);
  });

  test("a tool call that succeeds is reported with its output and exit code", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor, input: "@@tool-ok:a-word@@" });
    expect(result).toMatchObject({ status: "completed", output: "The command gave: a-word", counts: { tools: 1 } });
    const ended = (await turnd.events(result.turn_id)).filter((event) => event.type === "tool.ended");
    expect(ended).toMatchObject([{ data: { kind: "execute", status: "completed", exit_code: 0 } }]);
    expect(ended[0]?.data.output?.text.trim()).toBe("a-word");
  });

  test("a command that fails is reported with its exit code and output, and the turn goes on", async () => {
    const { turnd } = stage();
    const result = await turnd.run({ executor, input: "@@tool-fail@@" });
    expect(result.status).toBe("completed");
    const ended = (await turnd.events(result.turn_id)).filter((event) => event.type === "tool.ended");
    expect(ended).toMatchObject([{ data: { kind: "execute", status: "failed", exit_code: 3 } }]);
    // Both of its outputs, in whichever order the CLI read them.
    expect(ended[0]?.data.output?.text.trim().split("\n").toSorted()).toEqual(["broken", "partial"]);
    expect(result.output).toMatch(/partial|broken/);
  });

  test("an edited file is changed on the disk, belongs to the CLIs' user, and is reported in `changes`", async () => {
    const { turnd } = stage();
    const path = join(turnd.workspace, "notes.txt");
    writeFileSync(path, "first line\nsecond line\n");
    userFile(path);
    const result = await turnd.run({ executor, input: "@@edit@@" });
    expect(result).toMatchObject({ status: "completed", output: expect.stringContaining("first line (edited)") });
    expect(readFileSync(path, "utf8")).toBe("first line (edited)\nsecond line\n");
    expect(statSync(path).uid).toBe(CLI_USER.uid);
    const changes = (await turnd.events(result.turn_id)).flatMap((event) =>
      event.type === "tool.ended" ? (event.data.changes ?? []) : [],
    );
    expect(changes).toMatchObject([{ path, change: "update" }]);
  });
});
