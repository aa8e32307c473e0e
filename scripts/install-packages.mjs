// Plain JavaScript that runs on Node 20, as scripts/setup.mjs does.
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const PROGRAM = fileURLToPath(new URL("install-in-group.mjs", import.meta.url));
/** Never removed: waiting processes hold this very file. Its text names the process that installs. */
const LOCK = ".turnd-install.lock";
const FLOCK = "/usr/bin/flock";
const IS_HELD = 75;
const WAIT_S = 3_600;
const GRACE_MS = 4_000;
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/**
 * Installs the packages of some folders of the repository, in a process group of its own that ends with this process, however
 * this one ends. One at a time, by a lock of the kernel's, which ends with its holder. Ends the process where it fails.
 *
 * @param {readonly string[]} folders
 * @param {string} root the repository
 */
export async function installPackages(folders, root = ROOT) {
  let ended = await run(folders, root, ["--nonblock"]);
  if (ended.code === IS_HELD) {
    console.error(`turnd: ${describeHolder(root)} installs the packages: waiting for it`);
    ended = await run(folders, root, ["--timeout", String(WAIT_S)]);
    if (ended.code === IS_HELD) console.error(`turnd: it has not ended within ${WAIT_S} s`);
  }
  if (ended.stoppedBy !== undefined) {
    console.error("turnd: the installation was stopped; the next start makes it again");
    process.exit(128 + constants.signals[ended.stoppedBy]);
  }
  if (ended.code !== 0) process.exit(ended.code ?? 1);
}

function describeHolder(root) {
  const [, pid] = /^(\d+)\n/.exec(readFileSync(join(root, LOCK), "utf8")) ?? [];
  return pid === undefined ? "another start" : `another start, process ${pid},`;
}

/** @returns {Promise<{ code: number | null, stoppedBy?: NodeJS.Signals }>} */
function run(folders, root, how) {
  const program = [process.execPath, PROGRAM, root, String(process.pid), ...folders];
  const lock = ["--exclusive", "--no-fork", "--conflict-exit-code", String(IS_HELD), ...how, LOCK];
  const [command, ...args] = existsSync(FLOCK) ? [FLOCK, ...lock, ...program] : program;
  // In a session of its own: a signal of the terminal reaches only this process, which ends all of it.
  const child = spawn(command, args, { cwd: root, detached: true, stdio: ["pipe", 2, 2] });
  // The end of its standard input is how it sees that this process is gone.
  child.stdin.on("error", () => undefined);
  let stoppedBy;
  let killer;
  const stop = (signal) => {
    stoppedBy ??= signal;
    signalGroup(child, "SIGTERM");
    killer ??= setTimeout(() => signalGroup(child, "SIGKILL"), GRACE_MS);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  return new Promise((resolve) => {
    child.once("error", (error) => {
      console.error(`turnd: the packages cannot be installed: ${error.message}`);
      resolve({ code: 1 });
    });
    child.once("exit", (code) => {
      // Also what it has left where it was killed itself.
      signalGroup(child, "SIGKILL");
      resolve({ code, stoppedBy });
    });
  }).finally(() => {
    clearTimeout(killer);
    for (const signal of SIGNALS) process.off(signal, stop);
  });
}

function signalGroup({ pid }, signal) {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // Nothing is left of it.
  }
}
