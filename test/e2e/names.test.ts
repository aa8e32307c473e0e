import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { binaryOf, LIGHT_CLI_A, LIGHT_CLIS, realEnv, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/** A name that the real binaries know nothing of. */
const NAMES = { CLI_A_NAME: "cli-a", CLI_B_NAME: "cli-b" };

const Report = z.object({ checks: z.array(z.looseObject({ name: z.string() })) });

/** What doctor finds of both CLIs' configurations. */
async function examine(env: Readonly<Record<string, string>>): Promise<unknown[]> {
  const directory = temporaryDirectory(onTestFinished);
  const result = await execa(process.execPath, [inject("turnd"), "doctor", "--json"], {
    extendEnv: false,
    env: {
      ...env,
      TURND_STATE_DIR: join(directory, "state"),
      TURND_HOME: userDirectory(join(directory, "home")),
      TURND_WORKSPACE: userDirectory(join(directory, "workspace")),
      TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    },
    reject: false,
  });
  const { checks } = Report.parse(JSON.parse(result.stdout));
  return LIGHT_CLIS.map(({ executor }) => checks.find(({ name }) => name === `${executor}-configuration`));
}

describe.each(LIGHT_CLIS)("$executor $version by another name", (cli) => {
  const stage = shareStage(cli, { env: NAMES });
  const { executor } = cli;

  test("runs with the configuration of turnd, in new and in resumed turns", async () => {
    const { turnd, model } = stage();
    const { session_id, ...first } = await turnd.run({ executor, input: "My word is quince. @@text:Noted.@@" });
    expect(first).toMatchObject({ status: "completed", output: "Noted." });
    const second = await turnd.run({ session_id, input: "@@recall@@" });
    expect(second).toMatchObject({ status: "completed", resumed: true, output: expect.stringContaining("quince") });
    expect(model.requests.every(({ conversation }) => conversation.model === "scripted")).toBe(true);
  });
});

test("both pass doctor by another name, and those that read neither name's places do not", async () => {
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  const env = { ...realEnv(LIGHT_CLI_A, model.url), ...NAMES };
  expect(await examine(env)).toMatchObject([{ level: "ok" }, { level: "ok" }]);

  const directory = temporaryDirectory(onTestFinished);
  const elsewhere = '-u CODEX_HOME -u CLI_B_HOME XDG_CONFIG_HOME="$HOME/elsewhere"';
  const others = LIGHT_CLIS.map(({ executor, version }) => {
    const other = join(directory, executor);
    writeFileSync(other, `#!/bin/sh\nexec env ${elsewhere} ${binaryOf(version)} "$@"\n`);
    chmodSync(other, 0o755);
    return [executor === "cli-a" ? "CLI_A_BIN" : "CLI_B_BIN", other];
  });
  const fault = { level: "fault", message: expect.stringContaining("does not read the configuration") };
  expect(await examine({ ...env, ...Object.fromEntries(others) })).toMatchObject([fault, fault]);
});
