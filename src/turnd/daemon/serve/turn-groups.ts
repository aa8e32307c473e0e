import { totalmem } from "node:os";
import type { GroupLimits } from "../process/cgroup/cgroup-files.ts";
import { openCommandGroups, removeCommandGroups } from "../process/cgroup/cgroup-open.ts";
import { GroupError, MIB, type GroupsState } from "../process/cgroup/cgroup.ts";
import { ResourcesExhaustedError } from "../process/exhausted.ts";
import { tryKeeper, type KeeperCheckOptions } from "../process/keeper/keeper-check.ts";
import type { Settings } from "../settings.ts";

const OFF = "TURND_TURN_CGROUPS is off";
const TRIAL = "trial";

/** The limits of a turn and of a shell, from the settings and the machine's memory. */
export function limitsOf({ values }: Settings): GroupLimits {
  const megabytes = values.TURND_TURN_MEMORY_MB ?? Math.floor(availableBytes() / 2 / MIB);
  return { maxProcesses: values.TURND_TURN_MAX_PROCESSES, memoryBytes: megabytes * MIB };
}

/** Of the machine, or of the control group that turnd was started in. */
export function availableBytes(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Opens turnd's control groups, and runs a real program in one. Never throws for what the system does not allow. */
export async function openGroups(
  settings: Settings,
  keeper: Pick<KeeperCheckOptions, "keeperPath" | "starter">,
): Promise<GroupsState> {
  const { values, runAs } = settings;
  const stateDirectory = values.TURND_STATE_DIR;
  if (values.TURND_TURN_CGROUPS === "off") {
    removeCommandGroups(stateDirectory);
    return { reason: OFF };
  }
  const state = openCommandGroups({ stateDirectory, limits: limitsOf(settings) });
  if (state.groups === undefined) return state;
  const { groups } = state;
  try {
    // A keeper that works in no group is reported where the keeper itself is checked.
    await tryKeeper({ ...keeper, stateDirectory, runAs, group: groups.make(TRIAL) });
    await groups.remove(TRIAL);
    return state;
  } catch (error) {
    groups.removeEmpty();
    if (error instanceof GroupError || error instanceof ResourcesExhaustedError) return { reason: error.message };
    throw error;
  }
}
