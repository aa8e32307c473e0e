import { readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { findGroupPlaces, GroupsUnusableError } from "../process/cgroup/cgroup-places.ts";
import { MIB } from "../process/cgroup/cgroup.ts";
import { tryKeeper } from "../process/keeper/keeper-check.ts";
import { readProcess } from "../process/keeper/process-table.ts";
import { fault, ok, warn, type Subject, type Verdict } from "./check.ts";

const TOOL_TIMEOUT_MS = 10_000;
/** For a loaded machine: a reaper takes milliseconds. */
const REAP_LIMIT_MS = 5_000;

export async function checkKeeper({ keeperPath, ownScratch, runAs }: Subject): Promise<Verdict> {
  const state = await tryKeeper({ keeperPath, stateDirectory: ownScratch, runAs });
  if (!state.works)
    return fault(`no turn can run: ${state.reason}`, "see what the other checks say of perl and the user");
  return state.isSubreaper
    ? ok("a keeper starts as subreaper, and ends by itself")
    : warn(
        "keepers cannot adopt what escapes: sweeping is best effort",
        "use a kernel and a seccomp profile that allow prctl PR_SET_CHILD_SUBREAPER",
      );
}

/** Neither is a fault: the limits of the container hold for all turns together. */
export async function checkTurnLimits({ turnLimits }: Subject): Promise<Verdict> {
  if (turnLimits.isOff) return ok("turns have no limits of their own: TURND_TURN_CGROUPS is off");
  try {
    const [place] = findGroupPlaces();
    const { maxProcesses, memoryBytes } = turnLimits;
    const processes = maxProcesses === 0 ? "any number of processes" : `at most ${maxProcesses} processes`;
    const memory = memoryBytes === 0 ? "no limit of memory" : `at most ${memoryBytes / MIB} MiB`;
    return ok(`each turn has a control group (version ${place?.version}) with ${processes} and ${memory}`);
  } catch (error) {
    if (error instanceof GroupsUnusableError) return ok(`turns have no limits of their own: ${error.message}`);
    throw error;
  }
}

/** An orphan that ends must be reaped by the process that adopted it, at last PID 1. */
export async function checkReaper(): Promise<Verdict> {
  // As turnd's own user, and below turnd: what runs below a helper is taken away by that.
  const { stdout } = await execa("/bin/sh", ["-c", "sleep 0.1 >/dev/null 2>&1 & echo $!"], {
    reject: false,
    extendEnv: false,
    timeout: TOOL_TIMEOUT_MS,
  });
  const pid = Number(stdout);
  const deadline = performance.now() + REAP_LIMIT_MS;
  for (let entry = readProcess(pid); entry !== undefined; entry = readProcess(pid)) {
    if (performance.now() > deadline) {
      return warn(
        `process ${entry.parentPid} does not take away orphans that have ended: they pile up`,
        "start the container with tini as PID 1, or with docker run --init",
      );
    }
    await delay(20);
  }
  return ok("orphans that have ended are taken away");
}

export async function checkProc(): Promise<Verdict> {
  const mounts = await readFile("/proc/self/mountinfo", "utf8").catch(() => undefined);
  return judgeProc(mounts, (process.getuid?.() ?? 0) === 0);
}

/** @param mounts - /proc/self/mountinfo, undefined where there is none. @see proc(5), hidepid */
export function judgeProc(mounts: string | undefined, isRoot: boolean): Verdict {
  const options = mounts?.split("\n").find((line) => / \/proc .* - proc /.test(line));
  if (options === undefined) return fault("/proc is not mounted", "mount it: without it no process can be found");
  const hides = /\bhidepid=(?!0|off)(\w+)/.exec(options)?.[1];
  if (hides === undefined) return ok("/proc shows all processes");
  const message = `/proc is mounted with hidepid=${hides}`;
  const remedy = "mount /proc without hidepid: what a CLI leaves behind may not be found";
  return isRoot ? warn(message, remedy) : fault(message, remedy);
}
