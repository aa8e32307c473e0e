import { chmodSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { DatabaseSync } from "node:sqlite";
import { guardEnv } from "../../src/turnd/daemon/executors/cli-a/config/own-code.ts";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import {
  ALL,
  ANSWER,
  changeStore,
  PLANTED,
  plantDirectory,
  plantMessage,
  plantRights,
  plantUnasked,
  readStore,
  TASK,
  USER,
} from "../harness/cli-a-store.ts";
import { binaryOf, CLIS_A, shareStage } from "../harness/real-daemon.ts";
import { CLI_USER, giveToUser, temporaryDirectory, userDirectory } from "../harness/temporary.ts";

// The guard looks at the store before the CLI begins, whatever it is asked: a turn each would prove no more of the guard, and
// cost ten times as much. That turns heed it is proved by test/e2e/store-turns.test.ts.
describe.each(CLIS_A)("$version", ({ executor, version }) => {
  const stage = shareStage({ executor, version });
  let session = "";
  let made = "";
  beforeAll(async () => {
    const { turnd, directory } = stage();
    const turn = await turnd.run({ executor, input: "My word is quince. @@text:Noted.@@" });
    session = turn.native_session_id ?? "";
    made = join(directory, "made");
    cpSync(join(turnd.state, "sessions", turn.session_id, "home/data/opencode"), made, { recursive: true });
  });

  /** A copy of the store, changed. */
  function copyStore(change: (data: string) => void): string {
    const data = join(temporaryDirectory(onTestFinished), "opencode");
    cpSync(made, data, { recursive: true });
    giveToUser(data);
    change(data);
    return data;
  }

  /** Starts the CLI on a store, in a workspace. @returns why it did not begin; undefined where it did */
  async function start(data: string): Promise<string | undefined> {
    const home = userDirectory(join(temporaryDirectory(onTestFinished), "home"));
    const guard = guardEnv({ config: undefined, configFiles: [], stores: [{ data, name: "opencode" }] });
    const [file = "", ...command] = asUser(CLI_USER, [binaryOf(version), "--version"]);
    const { exitCode, stdout, stderr } = await execa(file, command, {
      cwd: home,
      env: { HOME: home, TMPDIR: home, PATH: "/usr/bin:/bin", OPENCODE_DISABLE_MODELS_FETCH: "1", ...guard },
      extendEnv: false,
      reject: false,
      stdin: "ignore",
    });
    const refusal = /^error: turnd: the store cannot be used as it is: (.*)$/m.exec(stderr)?.[1];
    expect([exitCode, stdout.includes(version)], stderr).toEqual(refusal === undefined ? [0, true] : [1, false]);
    return refusal;
  }

  const inStore = (change: (store: DatabaseSync) => void) => (data: string) => changeStore(data, change);
  const future = Date.now() + 3_600_000;
  const replace = (end: string, make: (path: string) => void) => (data: string) => {
    rmSync(join(data, `opencode.db${end}`), { force: true });
    make(join(data, `opencode.db${end}`));
    giveToUser(data);
  };

  test.each<[string, (data: string) => void, RegExp]>([
    [
      "with a trigger",
      inStore((store) =>
        store.exec(`CREATE TRIGGER t AFTER UPDATE ON session BEGIN UPDATE session SET permission = '${ALL}'; END`),
      ),
      /it has a trigger that no CLI makes, t$/,
    ],
    [
      "with an index over what a session may",
      inStore((store) => store.exec("CREATE INDEX i ON session (id, permission)")),
      /its index i is none of the CLI's$/,
    ],
    [
      "with an answer of the future",
      inStore((store) => plantMessage(store, session, future, ANSWER, { type: "text", text: PLANTED })),
      /it has 1 of message later than now/,
    ],
    [
      "with a prompt of the future",
      inStore((store) => plantMessage(store, session, future, USER, { type: "text", text: PLANTED })),
      /it has 1 of message later than now/,
    ],
    ["whose journal is a directory", replace("-journal", (path) => mkdirSync(path)), /-journal is no file$/],
    ["whose log is a directory", replace("-wal", (path) => mkdirSync(path)), /-wal is no file$/],
    ["that is a directory", replace("", (path) => mkdirSync(path)), /opencode\.db is no file$/],
    ["that its user cannot open", (data) => chmodSync(join(data, "opencode.db"), 0), /unable to open database file$/],
    [
      "that is no database",
      // The log beside it holds all of a young one, and would restore it.
      (data) => {
        for (const end of ["", "-wal"]) writeFileSync(join(data, `opencode.db${end}`), "garbage, ".repeat(1_000));
      },
      /not a database$/,
    ],
  ])("a store %s is refused", async (_, change, reason) => {
    expect(await start(copyStore(change))).toMatch(reason);
  });

  test("rights, accounts, directories, tasks and addresses are taken out of it; the history stays", async () => {
    const data = copyStore(
      inStore((store) => {
        plantRights(store, "http://127.0.0.1:9");
        plantDirectory(store, "/elsewhere");
        plantUnasked(store, session, "http://127.0.0.1:9");
      }),
    );
    expect(await start(data)).toBe(undefined);
    const [row] = readStore(data, "SELECT * FROM session");
    expect(row).toMatchObject({ permission: "[]" });
    expect(row?.["directory"]).not.toBe("/elsewhere");
    expect(row?.["path"] ?? null).toBe(null);
    for (const table of ["account", "account_state"]) expect(readStore(data, `SELECT * FROM ${table}`)).toEqual([]);
    const kept = JSON.stringify(["message", "part"].map((name) => readStore(data, `SELECT data FROM ${name}`)));
    expect(kept).toContain("quince");
    for (const gone of [PLANTED, TASK.type, "127.0.0.1"]) expect(kept).not.toContain(gone);
  });

  test("what is a few seconds ahead, as after a clock was set back, is waited for", async () => {
    const ahead = Date.now() + 4_000;
    const data = copyStore(
      inStore((store) => plantMessage(store, session, ahead, USER, { type: "text", text: "from a moment ahead" })),
    );
    expect(await start(data)).toBe(undefined);
    expect(Date.now()).toBeGreaterThanOrEqual(ahead);
    expect(JSON.stringify(readStore(data, "SELECT data FROM part"))).toContain("from a moment ahead");
  });

  test("where there is no store, none is made of the files of an older version", async () => {
    const data = copyStore((path) => {
      for (const end of ["", "-shm", "-wal"]) rmSync(join(path, `opencode.db${end}`), { force: true });
      mkdirSync(join(path, "storage/session"), { recursive: true });
      giveToUser(path);
    });
    expect(await start(data)).toBe(undefined);
    expect(existsSync(join(data, "storage"))).toBe(false);
  });
});
