import type { Check } from "./check.ts";
import type { Executor } from "../executors/contract/executor.ts";
import { checkStrayConfiguration, listCliChecks, listSandboxChecks } from "./clis.ts";
import { checkHome, checkState, checkTemporary, checkWorkspaceUse } from "./directories.ts";
import { checkClock, checkDisk } from "./disk.ts";
import { checkPorts } from "./ports.ts";
import { checkKeeper, checkProc, checkReaper, checkTurnLimits } from "./processes.ts";
import { checkLocale, checkNode, checkToken, checkTools } from "./environment.ts";
import { checkCapabilities, checkUser } from "./user.ts";

/**
 * Every check, in the order in which they are reported.
 *
 * @param executors - the CLIs that turnd drives: each has checks of its own
 */
export function listChecks(executors: readonly Executor[]): Check[] {
  return [...MACHINE, ...executors.flatMap(listCliChecks), STRAY, ...executors.flatMap(listSandboxChecks), ...DAEMON];
}

const STRAY: Check = {
  name: "stray-configuration",
  about: "no file outside the sessions that a CLI would read over turnd's own configuration",
  look: checkStrayConfiguration,
};

/** What the CLIs need of the machine. */
const MACHINE: readonly Check[] = [
  { name: "user", about: "the CLIs' user has a name, and is nobody who logs in", look: checkUser },
  {
    name: "capabilities",
    about: "turnd can become that user, give it files, reach its directories and end its processes",
    look: checkCapabilities,
  },
  { name: "tools", about: "perl, setpriv, flock, bash; git and rg for the CLIs", look: checkTools },
  { name: "home", about: "owner and mode of the CLIs' home, and of what is in it", look: checkHome },
  { name: "state", about: "owner and modes of the state directory, sessions and turns", look: checkState },
  { name: "workspace", about: "the default workspace can be used by the CLIs' user", look: checkWorkspaceUse },
  { name: "tmp", about: "so can /tmp", look: checkTemporary },
  { name: "disk", about: "room and inodes of state, home and /tmp", look: checkDisk },
  { name: "clock", about: "not before the program was made, nothing in the state from the future", look: checkClock },
];

/** What turnd itself needs. */
const DAEMON: readonly Check[] = [
  { name: "keeper", about: "a real keeper starts, adopts and ends a process", look: checkKeeper },
  { name: "turn-limits", about: "whether each turn and shell has limits of its own", look: checkTurnLimits },
  { name: "reaper", about: "PID 1 takes away processes that have ended", look: checkReaper },
  { name: "proc", about: "/proc shows the processes of the CLIs' user", look: checkProc },
  { name: "ports", about: "turnd's ports, and the front's, are free or held by them", look: checkPorts },
  { name: "token", about: "there is one, and the CLIs cannot read its file", look: checkToken },
  { name: "node", about: "Node is new enough", look: checkNode },
  { name: "locale", about: "the tools use UTF-8", look: checkLocale },
];
