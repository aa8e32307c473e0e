import { join } from "node:path";
import { expect, test } from "vitest";
import { describeImage, shareSandbox } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const PROGRAMS = "/opt/programs";
const TARGET = "/srv/target";
/** Variations of one attack: the one waits for its moment, the other never pauses. */
const ATTACKS = ["swap-while-removed", "flip-while-removed"];
/** For a machine that others load. */
const LIMIT_MS = 300_000;

describeImage("a tool that puts links in the way of a session's removal", { timeout: LIMIT_MS }, () => {
  const sandbox = shareSandbox(() => ({
    env: {
      CLI_B_NAME: "fake-cli-b",
      CLI_B_BIN: `${PROGRAMS}/fake-cli-b`,
      CLI_B_API_KEY: "FAKE-KEY-FOR-TESTS",
      CLI_B_MODEL: "model-x",
      CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
    },
    files: {
      [`${PROGRAMS}/fake-cli-b`]: join(REPOSITORY, "test/programs/fake-cli-b"),
      ...Object.fromEntries(ATTACKS.map((name) => [`${PROGRAMS}/${name}`, join(REPOSITORY, "test/programs", name)])),
    },
  }));

  test.for(ATTACKS)("leads root into no directory of its own: %s", async (name) => {
    const root = (script: string) => sandbox().exec(["sh", "-ec", script]);
    await root(
      `rm -rf ${TARGET}; mkdir -m 700 ${TARGET}; mkdir ${TARGET}/deep; touch ${TARGET}/one ${TARGET}/deep/two`,
    );
    await sandbox().run({ executor: "cli-b", session_id: name, input: "hello" });
    const own = `/workspace/${name}`;
    const home = `/var/lib/turnd/sessions/${name}/home`;
    const attack = await sandbox().admit({
      executor: "cli-b",
      input: `shell mkdir ${own}; perl ${PROGRAMS}/${name} ${home} ${TARGET} ${own}/own > ${own}/said 2>&1\nafter`,
    });
    await root(`until grep -q ready ${own}/said; do sleep 0.2; done`);
    expect((await sandbox().request("DELETE", `/v1/sessions/${name}`)).status).toBe(204);
    for await (const { event } of sandbox().follow(attack.turn_id)) if (event === "turn.ended") break;
    const said = await root(`cat ${own}/said`);
    // The attack came as far as it can: it saw the removal, and put its links in or found the directory gone.
    expect(said.output).toMatch(/^ready\n(swapped \d+|too late|flipped [1-9].*)\n$/);
    expect((await root(`find ${TARGET} | sort`)).output.split("\n").filter(Boolean)).toEqual([
      TARGET,
      `${TARGET}/deep`,
      `${TARGET}/deep/two`,
      `${TARGET}/one`,
    ]);
  });
});
