import type { Logger } from "pino";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import type { GroupHits } from "../../process/cgroup/cgroup-files.ts";
import { MIB, type CommandGroup, type CommandGroups, type GroupsState } from "../../process/cgroup/cgroup.ts";
import type { ProcessTree } from "../../process/keeper/tree.ts";
import type { KeptExit } from "../../process/keeper/wait-exit.ts";
import { ownFailure } from "../outcome/own-failure.ts";
import type { TurnFile } from "../lifecycle/turn-file.ts";
import type { Turn } from "../lifecycle/turn.ts";

/** Control groups of turns, or why there are none. */
export interface GroupParts {
  readonly groups: GroupsState;
  readonly logger: Logger;
}

/** What distinguishes a turn's processes from all others. */
export function markOf(marker: string, groups: CommandGroups | undefined): Omit<ProcessTree, "started"> {
  return groups === undefined ? { marker } : { marker, group: groups.find(marker) };
}

/** Makes the control group of a turn, where there are any; one that is there already is the turn's too. */
export function makeGroup({ groups }: GroupsState, turnId: string): { readonly group?: CommandGroup } {
  return groups === undefined ? {} : { group: groups.make(turnId) };
}

/** Removes the control group of a turn whose processes have ended. Never throws: the next start tries again. */
export async function removeGroup({ groups: { groups }, logger }: GroupParts, file: TurnFile): Promise<void> {
  if (groups === undefined || file.replay !== undefined) return;
  try {
    if (!(await groups.remove(file.turn_id))) logger.warn({ turnId: file.turn_id }, "control group is left");
  } catch (error) {
    logger.warn({ turnId: file.turn_id, err: error }, "control group could not be removed");
  }
}

/** How a turn came to its own limits, for people; undefined when it did not. */
export function describeHits(parts: GroupParts, file: TurnFile): string | undefined {
  const { groups } = parts.groups;
  if (groups === undefined) return undefined;
  const { killed, refused } = readHits(parts, groups, file);
  const { maxProcesses } = groups.limits;
  const reached = [
    ...(killed > 0
      ? [`${describeMemory(groups)}, and the system killed ${count(killed, "process", "processes")}`]
      : []),
    ...(refused > 0 && maxProcesses > 0
      ? [
          `its limit of ${maxProcesses} processes and threads (TURND_TURN_MAX_PROCESSES), and ${count(refused, "start of one was", "starts of one were")} refused`,
        ]
      : []),
  ];
  return reached.length === 0 ? undefined : `The turn came to ${reached.join("; and to ")}.`;
}

/** The failure of a turn whose CLI the kernel has killed for want of memory; undefined when that is not known. */
export function findMemoryKill(
  parts: GroupParts,
  { file, life }: Pick<Turn, "file" | "life">,
  exit: KeptExit | null,
): FailureDraft | undefined {
  const { groups } = parts.groups;
  // What turnd ended itself shows nothing about memory.
  if (groups === undefined || exit?.signal !== "SIGKILL" || life.stopReason !== undefined) return undefined;
  if (readHits(parts, groups, file).killed === 0) return undefined;
  return ownFailure(
    "resources_exhausted",
    `The turn came to ${describeMemory(groups)}, and the system killed the CLI.`,
    "ask for less at once or have the operator raise the limit",
  );
}

function describeMemory({ limits: { memoryBytes } }: CommandGroups): string {
  return memoryBytes === 0
    ? "the sandbox's limit of memory"
    : `its limit of ${memoryBytes / MIB} MiB of memory (TURND_TURN_MEMORY_MB)`;
}

function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

const NONE: GroupHits = { killed: 0, refused: 0 };

/** What cannot be read counts as nothing, and must not keep the turn from ending. Law: one end. */
function readHits({ logger }: GroupParts, groups: CommandGroups, file: TurnFile): GroupHits {
  if (file.replay !== undefined) return NONE;
  try {
    return groups.readHits(file.turn_id);
  } catch (error) {
    logger.warn({ turnId: file.turn_id, err: error }, "control group could not be read");
    return NONE;
  }
}
