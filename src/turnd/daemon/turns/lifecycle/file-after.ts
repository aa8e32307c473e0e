import { defined } from "../../../../kit/defined.ts";
import type { Input } from "./inputs.ts";
import type { Life } from "./life.ts";
import type { TurnFile } from "./turn-file.ts";

/**
 * What `turn.json` says after an input.
 *
 * @param life - after that input
 */
export function fileAfter(file: TurnFile, life: Life, input: Input): TurnFile {
  switch (input.type) {
    case "prepared": {
      const { usage_before: before, provider_fault: _fault, transport: _transport, ...rest } = file;
      // Of an earlier start, which went on with a session.
      const isOutdated = input.start.requested_session === null;
      return { ...rest, ...(before === undefined || isOutdated ? {} : { usage_before: before }), ...input.start };
    }
    case "start_given_up": {
      // A replay whose start is on the disk goes on where it was: nothing of this one was played.
      const { started_at: _at, started_boot: _boot, ...rest } = file;
      return file.replay === undefined ? file : rest;
    }
    case "given":
      return { ...file, given_to: input.to };
    case "resume_lost":
      return { ...file, degraded: input.degraded };
    case "played":
      return file.replay === undefined
        ? file
        : { ...file, ended_by: file.replay.ended_by, replay: { ...file.replay, is_played: true } };
    case "processes_swept":
      return input.processes.length === 0
        ? file
        : { ...file, ended_processes: mergeEnded(file.ended_processes ?? [], input.processes) };
    case "concluded": {
      const { halted: _halted, taken: _taken, ...rest } = file;
      return {
        ...rest,
        ...(input.endedBy === (file.ended_by ?? null) ? {} : { ended_by: input.endedBy }),
        ...defined({ halted: input.halted, taken: input.taken }),
      };
    }
    default:
      return withStopReason(file, life);
  }
}

function withStopReason(file: TurnFile, { stopReason }: Life): TurnFile {
  if (stopReason === undefined) return file;
  const stopped = { ...file, ended_by: stopReason };
  // It has not come to the recording's end after all.
  return file.replay === undefined ? stopped : { ...stopped, replay: { ...file.replay, is_played: false } };
}

/** The stop reason in a `turn.json`: that of a recording that was played is the recording's own. */
export function stopReasonIn({ ended_by: endedBy, replay }: TurnFile): Life["stopReason"] {
  return replay?.is_played === true ? undefined : (endedBy ?? undefined);
}

type Ended = NonNullable<TurnFile["ended_processes"]>;

/** Two sweeps at once may end the same process: it is listed once, with the signal it was sent last. */
function mergeEnded(before: Readonly<Ended>, now: Readonly<Ended>): Ended {
  return [...new Map([...before, ...now].map((entry) => [`${entry.pid} ${entry.command}`, entry])).values()];
}
