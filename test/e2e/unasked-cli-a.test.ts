import { chmodSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, describe, expect, test } from "vitest";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { startClosedProxy } from "../harness/closed-proxy.ts";
import { CLIS_A, PINNED_CLI_A, shareStage, type Stage } from "../harness/real-daemon.ts";
import { CLI_USER, userDirectory, userFile } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const proxy = await startClosedProxy();
afterAll(() => proxy.close());
const PROXY = { HTTP_PROXY: proxy.url, HTTPS_PROXY: proxy.url };

const WHOLE = "The whole answer.";

/** Edits a file; cuts the answer that follows, which comes over a connection that is kept; then answers. */
const cutKept: Scenario = (conversation, { attempt }) => {
  const { outcomes } = currentTurn(conversation);
  const path = "notes.ts";
  // 1.3.2 refuses an edit without a read before it.
  if (outcomes.length === 0) return act(conversation, { type: "read", path });
  if (outcomes.length === 1)
    return act(conversation, { type: "edit", path, before: "first line", after: "second line" });
  return attempt === 1 ? say(`${WHOLE} It breaks off here, because`, "cut") : say(WHOLE);
};

/** A repository that brings formatters and a language server: each leaves a mark when it is started. */
async function bringPrograms({ turnd: { workspace } }: Stage): Promise<() => boolean> {
  const mark = join(workspace, "program-ran");
  const bin = userDirectory(join(workspace, "node_modules/.bin"));
  const put = (path: string, content: string): void => {
    writeFileSync(path, content);
    userFile(path);
  };
  for (const name of ["biome", "prettier"]) {
    put(join(bin, name), `#!/bin/sh\n: >${mark}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  put(join(workspace, "biome.json"), "{}");
  put(join(workspace, "package.json"), JSON.stringify({ name: "x", devDependencies: { prettier: "*" } }));
  put(join(workspace, "notes.ts"), "first line\n");
  const [setpriv = "", ...command] = asUser(CLI_USER, ["git", "init", "--quiet"]);
  await execa(setpriv, command, { cwd: workspace, extendEnv: false, env: { PATH: "/usr/bin:/bin" } });
  rmSync(mark, { force: true });
  return () => existsSync(mark);
}

const EDIT = { executor: "cli-a", input: "@@cut-kept@@" } as const;

describe.each(CLIS_A)("$version", (cli) => {
  const stage = shareStage(cli, { env: PROXY, model: { scenarios: { "cut-kept": cutKept } } });

  test("a turn reports an answer that is cut on a connection that was kept once, calls no server but the provider, keeps no copy of the workspace and starts no program of the repository", async () => {
    const { turnd, model } = stage();
    const hasRun = await bringPrograms(stage());
    const { turn_id, session_id } = await turnd.admit(EDIT);
    const texts: string[] = [];
    for await (const { data } of turnd.follow(turn_id)) {
      const event = JSON.parse(data);
      if (event.type === "message") texts.push(event.data.text);
    }
    expect(texts).toEqual([WHOLE]);
    expect(model.requests.map(({ headers }) => headers.connection)).toEqual(["close", "close", "close", "close"]);
    expect(readFileSync(join(turnd.workspace, "notes.ts"), "utf8")).toBe("second line\n");
    expect(proxy.asked).toEqual([]);
    expect(hasRun()).toBe(false);
    const data = join(turnd.state, "sessions", session_id, "home/data/opencode");
    expect(existsSync(join(data, "opencode.db"))).toBe(true);
    expect(existsSync(join(data, "snapshot"))).toBe(false);
    // Nor what grows with every turn: its log, and the native code that it unpacks.
    await waitFor("the home to be tidy", () => !existsSync(join(data, "log")));
    expect(readdirSync(join(turnd.state, "sessions", session_id, "home/tmp"))).toEqual([]);
  });
});

describe("configured by an operator's whole file", () => {
  const stage = shareStage(PINNED_CLI_A, {
    env: (modelUrl) => ({
      ...PROXY,
      CLI_A_JSON: JSON.stringify({
        model: "scripted/scripted",
        provider: {
          scripted: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: modelUrl, apiKey: "{env:CLI_A_API_KEY}" },
            models: { scripted: {} },
          },
        },
        formatter: { own: { command: ["/bin/sh", "-c", ": >program-ran"], extensions: [".ts"] } },
      }),
    }),
    model: { scenarios: { "cut-kept": cutKept } },
  });

  test("its formatter runs, but in no session that may run nothing; an answer that is cut is reported once", async () => {
    const { turnd } = stage();
    const hasRun = await bringPrograms(stage());
    const session_id = "runs-nothing";
    const permissions = { execute: "deny" };
    await turnd.request("POST", "/v1/sessions", { executor: "cli-a", session_id, permissions });
    expect(await turnd.run({ session_id, input: EDIT.input })).toMatchObject({ status: "completed", output: WHOLE });
    expect(hasRun()).toBe(false);
    writeFileSync(join(turnd.workspace, "notes.ts"), "first line\n");
    expect(await turnd.run(EDIT)).toMatchObject({ status: "completed", output: WHOLE });
    expect(hasRun()).toBe(true);
  });
});
