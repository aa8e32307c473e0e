import type { Readable } from "node:stream";
import type { Exit, TurnEndedData } from "../protocol/index.ts";
import type { Redact } from "../daemon/event-log/redact.ts";
import type { DriftWatch } from "../daemon/executors/contract/records.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import { idsOf } from "../daemon/replay/recording.ts";
import { nameFault, RecordingError } from "../daemon/replay/recording-error.ts";
import { createSources, type RecordingSource, type Sources } from "../daemon/replay/source.ts";
import { identifyOutput } from "../daemon/turns/replay/identify-output.ts";
import { replayRecording, type ReplayOptions } from "../daemon/turns/replay/replay.ts";
import { redactTurns } from "../daemon/turns/store/read-turn-secrets.ts";

export interface ReplaySourcesOptions {
  readonly executors: readonly Executor[];
  readonly redact: Redact;
  /** Standard input. */
  readonly stdin: Readable;
  /** An executor's id, or what its program is called; in the place of the recorded or found one. */
  readonly executor?: string | undefined;
  /** In the place of the recorded one. */
  readonly exit?: Exit | undefined;
  readonly onFault: (error: RecordingError) => void;
}

/** Callbacks of the command that shows a replay. */
export type ReplayShow = Pick<ReplayOptions, "write" | "explain"> & {
  /** Called for every record. */
  readonly drift?: DriftWatch;
};

/** Opens and replays recordings by name. */
export interface ReplaySources {
  readonly sources: Sources;
  /** @throws {RecordingError} if it is of a CLI that this turnd does not have, or cannot be read */
  replay(source: RecordingSource, show: ReplayShow): Promise<TurnEndedData>;
}

const MAX_LINE_BYTES = 16_777_216;
const ADVICE = "name the CLI with --executor";

/** Prepares to replay recordings; nothing is opened yet. */
export function createReplaySources(options: ReplaySourcesOptions): ReplaySources {
  const { executors, exit, stdin, onFault } = options;
  const named = executors.find(({ id, builtAs }) => options.executor === id || options.executor === builtAs);
  const executor = named?.id ?? options.executor;
  const takenIds = new Set<string>();
  const sources = createSources({
    stdin,
    ...(executor === undefined ? {} : { executor }),
    ...(exit === undefined ? {} : { exit }),
    identify: (path, name) => identifyOutput(path, { name, executors, maxLineBytes: MAX_LINE_BYTES, advice: ADVICE }),
    onFault,
  });

  /** Two recordings of one name have ids of their own. */
  function nameIds({ recording }: RecordingSource): ReturnType<typeof idsOf> {
    const ids = idsOf(recording);
    if (recording.turn.turn_id !== undefined) return ids;
    let [turnId, count] = [ids.turnId, 1];
    while (takenIds.has(turnId)) turnId = `${ids.turnId}.${(count += 1)}`;
    takenIds.add(turnId);
    return count === 1 ? ids : { turnId, sessionId: `${ids.sessionId}.${count}` };
  }

  return {
    sources,
    async replay(source, { write, explain, drift }) {
      const { name, recording, directory, origin } = source;
      const found = executors.find(({ id }) => id === recording.turn.executor);
      if (found === undefined) {
        const known = executors.map(({ id }) => id).join(", ");
        throw new RecordingError(name, `is of ${recording.turn.executor}; this turnd knows ${known}`);
      }
      const runs = origin === undefined ? undefined : watchRuns(found);
      const ended = await replayRecording(recording, {
        executor: found,
        maxLineBytes: MAX_LINE_BYTES,
        now: () => new Date(),
        redact: await redactTurns(options.redact, directory === undefined ? [] : [directory]),
        name,
        ids: nameIds(source),
        keepsOrder: true,
        write,
        ...(explain === undefined ? {} : { explain }),
        drift(record, line) {
          drift?.(record, line);
          runs?.look(record, line);
        },
      }).catch((error: unknown) => {
        throw directory === undefined ? error : nameFault(error, directory, name);
      });
      const second = runs?.secondAt();
      if (second !== undefined) {
        const where = `line ${second} begins another run, and was replayed as a part of the first`;
        onFault(new RecordingError(name, `${where}; cut the file before it`));
      }
      return ended;
    },
  };
}

/** Detects a file with the output of more than one process. */
function watchRuns(executor: Executor): { look: DriftWatch; secondAt(): number | undefined } {
  let session: string | undefined;
  let second: number | undefined;
  return {
    look(record, line) {
      if (second !== undefined) return;
      const sign = executor.recogniseRecord(record);
      if (sign?.session === undefined) return;
      if (session !== undefined && (sign.beginsRun === true || sign.session !== session)) second = line;
      session ??= sign.session;
    },
    secondAt: () => second,
  };
}
