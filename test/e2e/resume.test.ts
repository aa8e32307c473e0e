import { rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, onTestFinished, test } from "vitest";
import { startDaemon } from "../harness/daemon.ts";
import { LIGHT_CLIS, realEnv, shareStage } from "../harness/real-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

describe.each(LIGHT_CLIS)("$executor $version", (cli) => {
  const stage = shareStage(cli);
  const { executor } = cli;

  test("a session goes on in its native session: in a second turn, after a restart, from a copied directory", async () => {
    const first = await stage().turnd.run({ executor, input: "My word is quince. @@text:Noted.@@" });
    const { session_id, native_session_id } = first;
    const resumed = { status: "completed", resumed: true, degraded: false, native_session_id };

    const second = await stage().turnd.run({ session_id, input: "Second. @@recall@@" });
    expect(second).toMatchObject(resumed);
    expect(JSON.parse(second.output ?? "")).toMatchObject({ said: ["My word is quince. @@text:Noted.@@"] });

    await stage().end("SIGTERM");
    await stage().start();
    const third = await stage().turnd.run({ session_id, input: "Third. @@recall@@" });
    expect(third).toMatchObject(resumed);
    expect(third.output).toContain("Second.");

    await stage().end("SIGTERM");
    const { turnd: old, model } = stage();
    const directory = temporaryDirectory(onTestFinished);
    await execa("cp", ["-a", old.state, join(directory, "state")]);
    // Nothing may lead back to where it was.
    rmSync(old.state, { recursive: true });
    const env = { ...realEnv(cli, model.url), TURND_WORKSPACE: old.workspace };
    const moved = await startDaemon({ directory, env });
    onTestFinished(async () => void (await moved.stop()));
    const fourth = await moved.run({ session_id, input: "Fourth. @@recall@@" });
    expect(fourth).toMatchObject(resumed);
    expect(JSON.parse(fourth.output ?? "").said).toEqual([
      "My word is quince. @@text:Noted.@@",
      "Second. @@recall@@",
      "Third. @@recall@@",
    ]);
  });
});
