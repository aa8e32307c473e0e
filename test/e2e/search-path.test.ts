import { chmodSync, existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, inject, test } from "vitest";
import { currentTurn } from "../../src/scripted-model/conversation.ts";
import { say, type Scenario } from "../../src/scripted-model/reply.ts";
import { act } from "../../src/scripted-model/scenarios/act.ts";
import { PINNED_CLIS, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

/** Asks a tool where it finds programs, and answers with that. */
const where: Scenario = (conversation) => {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(outcome.output);
  return act(conversation, { type: "run", command: "command -v git", purpose: "Looks for programs" });
};

describe.skipIf(CLI_USER.isSelf).each(PINNED_CLIS)("$executor $version", ({ executor, version }) => {
  const cleanUps: (() => void)[] = [];
  afterAll(() => cleanUps.forEach((cleanUp) => cleanUp()));
  const root = userDirectory(
    join(
      temporaryDirectory((cleanUp) => cleanUps.push(cleanUp)),
      "project",
    ),
  );
  const bin = userDirectory(join(root, "node_modules/.bin"));
  const mark = join(root, "ran");
  // As npm puts it there, one for each directory above.
  const PATH = `${bin}:${root}/later/node_modules/.bin:/usr/local/bin:/usr/bin:/bin:${inject("clis").tools}`;
  const stage = shareStage({ executor, version }, { env: { PATH }, model: { scenarios: { where } } });

  test("no program that a tool can put on PATH is started, and tools find those of the system", async () => {
    for (const name of ["git", "rg", "lsb_release", "getconf"]) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >>${mark}\n`);
      chmodSync(join(bin, name), 0o755);
    }
    rmSync(mark, { force: true });
    const { turnd } = stage();
    const first = await turnd.run({ executor, input: "@@where@@" });
    expect(first.status).toBe("completed");
    expect(first.output).toContain("/usr/bin/git");
    expect(first.output).not.toContain(root);
    const { session_id } = first;
    expect(await turnd.run({ session_id, input: "@@text@@" })).toMatchObject({ status: "completed", resumed: true });
    expect(existsSync(mark)).toBe(false);
  });
});
