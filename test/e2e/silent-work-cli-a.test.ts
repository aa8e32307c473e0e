import { chmodSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { CLIS_A, realEnv, shareStage } from "../harness/real-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const SILENT_SECONDS = 30;
/** Longer than any pause of a CLI between two of its own steps, on a busy machine too. */
const IDLE_MS = 20_000;
/** Some fifty deltas, of which nothing is printed before the last. */
const FRAME_GAP_MS = (SILENT_SECONDS * 1_000) / 50;
const LONG = "Thinking it over once more. ".repeat(40);

/** Calls a tool once, and answers with what it gave. */
function callOnce(name: string, input: Readonly<Record<string, unknown>>): Scenario {
  return (conversation) => {
    const [outcome] = currentTurn(conversation).outcomes;
    if (outcome !== undefined) return say("Done.");
    return { type: "answer", parts: [{ type: "tool_call", name, input }], ending: "stop" };
  };
}

const scenarios: Readonly<Record<string, Scenario>> = {
  delegate: callOnce("task", { description: "Ponders", prompt: "@@ponder@@", subagent_type: "general" }),
  ponder: () => ({
    type: "answer",
    parts: [
      { type: "reasoning", text: LONG },
      { type: "text", text: "Pondered." },
    ],
    ending: "stop",
  }),
  search: callOnce("grep", { pattern: "needle" }),
};

/** A directory whose `rg` is as slow as one that searches a large tree. */
function slowSearch(onDone: (cleanUp: () => void) => void): string {
  const directory = temporaryDirectory(onDone);
  const script = `#!/bin/sh\nsleep ${SILENT_SECONDS}\nPATH="$PATH_WITH_RG"\nexec rg "$@"\n`;
  writeFileSync(join(directory, "rg"), script.replace("$PATH_WITH_RG", inject("clis").tools));
  chmodSync(directory, 0o755);
  chmodSync(join(directory, "rg"), 0o755);
  return directory;
}

// All of them wait: at once.
describe.concurrent.each(CLIS_A)("cli-a $version", (cli) => {
  const cleanUps: (() => void)[] = [];
  afterAll(() => cleanUps.forEach((cleanUp) => cleanUp()));
  const stage = shareStage(cli, {
    env: (modelUrl) => ({
      PATH: [slowSearch((one) => cleanUps.push(one)), realEnv(cli, modelUrl)["PATH"]].join(delimiter),
    }),
    model: { scenarios, frameGapMs: FRAME_GAP_MS },
  });
  const { executor } = cli;

  test("neither a subagent that only thinks nor a search that takes longer than the idle timeout is silence", async () => {
    const turns = ["@@delegate@@", "@@search@@"].map((input) =>
      stage().turnd.run({ executor, input, idle_timeout_ms: IDLE_MS }),
    );
    for (const turn of await Promise.all(turns)) {
      expect(turn).toMatchObject({ status: "completed", output: "Done.", counts: { tools: 1 } });
    }
  });
});
