import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { binaryOf, LIGHT_CLIS, realEnv, shareStage, type RealCli } from "../harness/real-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/** A name that the real binaries know nothing of. */
const NAMES = { CLI_A_NAME: "cli-a", CLI_B_NAME: "cli-b" };

const Report = z.object({ checks: z.array(z.looseObject({ name: z.string() })) });

/** What doctor finds of a CLI's configuration. */
async function examine({ executor }: RealCli, env: Readonly<Record<string, string>>): Promise<unknown> {
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
  return checks.find(({ name }) => name === `${executor}-configuration`);
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

  test("passes doctor, and one that reads neither name's places does not", async () => {
    const env = { ...realEnv(cli, stage().model.url), ...NAMES };
    expect(await examine(cli, env)).toMatchObject({ level: "ok" });

    const variable = executor === "cli-a" ? "CLI_A_BIN" : "CLI_B_BIN";
    const other = join(temporaryDirectory(onTestFinished), "built-otherwise");
    const elsewhere = '-u CODEX_HOME -u CLI_B_HOME XDG_CONFIG_HOME="$HOME/elsewhere"';
    writeFileSync(other, `#!/bin/sh\nexec env ${elsewhere} ${binaryOf(cli.version)} "$@"\n`);
    chmodSync(other, 0o755);
    expect(await examine(cli, { ...env, [variable]: other })).toMatchObject({
      level: "fault",
      message: expect.stringContaining("does not read the configuration"),
    });
  });
});
