import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { CLIS_A, PINNED_CLI_A, shareStage, type Stage } from "../harness/real-daemon.ts";
import { CLI_USER, userDirectory } from "../harness/temporary.ts";

/** Runs a script as the CLIs' user, as a tool of another session can between two turns. */
function plant(directory: string, script: string): void {
  const [setpriv = "", ...command] = asUser(CLI_USER, ["/bin/sh", "-euc", script]);
  execFileSync(setpriv, command, { cwd: directory, env: { PATH: "/usr/bin:/bin" } });
}

/** In place of what the CLI opens at its start: pipes, links, files for directories; what names a program to git. */
const PLANTED = `
rm -rf cache state tmp data/opencode/storage data/opencode/log
mkdir -p elsewhere config/git data/opencode/snapshot
ln -s elsewhere cache
mkfifo tmp data/opencode/repos data/opencode/auth.json data/opencode/opencode.db-journal config/opencode/agent .opencode
: >state
: >data/opencode/log
mkfifo data/opencode/storage
ln -sf /dev/zero data/opencode/project
rm -f config/opencode/.gitignore
mkfifo config/opencode/.gitignore
ln -sf /dev/zero config/opencode/AGENTS.md
printf '[core]\\n\\tfsmonitor = touch ran\\n\\thooksPath = /hooks\\n' >config/git/config
mkfifo config/git/ignore config/git/attributes
: >elsewhere/kept
chmod 0 data/opencode/opencode.db data/opencode config/opencode
`;

const REPORTED = [
  ".opencode",
  "cache",
  "config/opencode/.gitignore",
  "config/opencode/AGENTS.md",
  "config/opencode/agent",
  "data/opencode/auth.json",
  "data/opencode/opencode.db-journal",
  "state",
];

/**
 * Ways to take a store away, by who finds it: turnd before the turn, the guard in the CLI, turnd as it lays out the home. More
 * that the guard finds is in test/e2e/store-guard.test.ts. Only the guard's way depends on the version.
 */
const PIPE = ["a pipe for the store", "rm -f data/opencode/opencode.db && mkfifo data/opencode/opencode.db"] as const;
const DIRECTORIES = [
  "directories for the store, its journal and its log",
  `rm -f data/opencode/opencode.db*
mkdir -p data/opencode/opencode.db/below data/opencode/opencode.db-journal data/opencode/opencode.db-wal`,
] as const;
const FILE = ["a file for all data", "rm -rf data && : >data"] as const;

describe.each(CLIS_A)("$version", (cli) => {
  const stage = shareStage(cli, { env: { TURND_START_TIMEOUT_MS: "60000" } });

  async function startSession({ turnd, directory }: Stage) {
    const workspace = userDirectory(join(turnd.workspace, "repository"));
    plant(workspace, "git init --quiet");
    const first = await turnd.run({ executor: "cli-a", workspace, input: "My word is quince. @@text:Noted.@@" });
    return { ...first, workspace, home: join(directory, "state/sessions", first.session_id, "home") };
  }

  /** A plan in the session, what the model was told in it, and what was said to have been removed or moved aside. */
  async function goOn({ session_id, workspace }: Awaited<ReturnType<typeof startSession>>) {
    const { turnd, model } = stage();
    const before = model.requests.length;
    const turn = await turnd.run({ session_id, workspace, mode: "plan", input: "And now? @@text:So.@@" });
    const sent = JSON.stringify(model.requests.slice(before).map(({ body }) => body));
    const events = await turnd.events(turn.turn_id);
    const warnings = events.flatMap(({ type, data }) => (type === "warning" ? [data] : []));
    return { turn, sent, warnings };
  }

  test("pipes, links, programs and directories in place of what it opens, in its user's home too, keep no later turn from its history", async () => {
    const session = await startSession(stage());
    plant(session.home, PLANTED);
    // The home of all sessions' tools: git would wait there for ever.
    const userHome = join(stage().directory, "home");
    plant(userHome, "mkfifo .gitconfig");
    const { turn, sent, warnings } = await goOn(session);
    plant(userHome, "rm .gitconfig");
    const { native_session_id } = session;
    expect(turn).toMatchObject({ status: "completed", resumed: true, degraded: false, native_session_id });
    expect(sent).toContain("quince");
    const removed = warnings.map(({ message }) => message.replace(/ in the.*/s, ""));
    expect(removed.toSorted()).toEqual(REPORTED);
    expect(new Set(warnings.map(({ code }) => code))).toEqual(new Set(["configuration_removed"]));
    expect(existsSync(join(session.home, "elsewhere/kept"))).toBe(true);
    expect(existsSync(join(session.workspace, "ran"))).toBe(false);

    // A store that is no file is reported as lost, and the session goes on with its history.
    const ways = cli.version === PINNED_CLI_A.version ? [PIPE, DIRECTORIES, FILE] : [DIRECTORIES];
    for (const [way, script] of ways) {
      plant(session.home, script);
      const lost = await goOn(session);
      expect([way, lost.turn]).toEqual([way, expect.objectContaining({ status: "completed", degraded: true })]);
      expect(lost.sent).toContain("quince");
      const codes = lost.warnings.map(({ code }) => code);
      expect([way, codes.some((code) => code === "configuration_removed" || code === "state_set_aside")]).toEqual([
        way,
        true,
      ]);
    }
    const last = await goOn(session);
    expect(last.turn).toMatchObject({ status: "completed", resumed: true, degraded: false });
    expect(last.warnings).toEqual([]);
  });
});
