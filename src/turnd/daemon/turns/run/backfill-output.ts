import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Recovery } from "../../executors/contract/translator.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import type { RunAs } from "../../process/run-as.ts";
import { startKept } from "../../process/keeper/keeper.ts";
import { readHead } from "../../storage/read-bounded.ts";
import { sweepLeftovers } from "../../process/keeper/leftovers.ts";
import { waitForExit } from "../../process/keeper/wait-exit.ts";
import type { EnvironmentOf } from "./cli-environment.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import { appendLines, finishAppending } from "./pending-lines.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { ranForMs } from "../lifecycle/ran-for.ts";
import { makeGroup } from "./turn-group.ts";
import { startTimeLimit } from "../../process/time-limit.ts";

export interface BackfillOptions {
  readonly environmentOf: EnvironmentOf;
  readonly executors: Executors;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  readonly runAs: RunAs;
  readonly groups: GroupsState;
  readonly now: () => Date;
}

/** Gets what a CLI has stored and not printed. Law: nothing printed is dropped. */
export interface Backfill {
  /**
   * Appends it to a turn's `stdout.jsonl`, once the CLI has ended.
   *
   * What is appended is read like any other line, now, after a restart and in a replay. A daemon that is killed on the
   * way leaves the rest to `finish`.
   * @param options.signal - gives it up: the turn is to end now
   * @returns whether there is more to read; never throws for what the CLI or the disk does
   */
  recover(turn: Turn, recovery: Recovery, options: { signal: AbortSignal; logger: Logger }): Promise<boolean>;
  /**
   * Finishes what a daemon that was killed in `recover` had begun, before `stdout.jsonl` is read.
   *
   * Never throws: what the CLI printed is logged all the same, and the store is asked once more where it can be.
   */
  finish(turn: Turn, logger: Logger): Promise<void>;
}

/** CLI A takes a second on a quiet machine. The turn's own timeout holds besides. */
const LIMIT_MS = 30_000;
/** A session's whole history: read at once, so bounded. */
const MAX_STORED_BYTES = 33_554_432;
/** A keeper's directory of its own: `started` and `exit.json` of the turn belong to the turn's process. */
const DIRECTORY = "recovery";

/** Makes the backfill of a daemon. */
export function createBackfill(options: BackfillOptions): Backfill {
  return {
    async recover(turn, recovery, { signal, logger }) {
      const log = logger.child({ turnId: turn.file.turn_id });
      try {
        const stored = await readStored(options, turn, recovery.args, signal);
        if (stored === undefined) {
          log.warn("output may be incomplete and the CLI's store could not be read");
          return false;
        }
        const lines = recovery.readLines(stored, Date.parse(turn.file.started_at ?? turn.file.created_at));
        if (lines.length === 0 || !(await appendLines(turn.directory, lines))) return false;
        log.info({ lines: lines.length }, "output recovered from the CLI's store");
        return true;
      } catch (error) {
        log.warn({ err: error }, "output could not be recovered");
        return false;
      }
    },
    async finish(turn, logger) {
      try {
        await finishAppending(turn.directory);
        await clear(turn);
      } catch (error) {
        logger.warn({ turnId: turn.file.turn_id, err: error }, "output could not be recovered");
      }
    },
  };
}

/** @returns undefined when the command fails, takes too long or prints too much */
async function readStored(
  { environmentOf, executors, keeperPath, runAs, groups, now }: BackfillOptions,
  turn: Turn,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const located = await executorOf(executors, turn.file.executor).locate();
  if (!located.ok) return undefined;
  const directory = join(turn.directory, DIRECTORY);
  try {
    await mkdir(directory, { mode: 0o700 });
    await writeFile(join(directory, "prompt.txt"), "", { mode: 0o600 });
    const started = await startKept({
      keeperPath,
      directory,
      command: [located.path, ...args],
      env: environmentOf(turn).env,
      cwd: turn.file.workspace,
      runAs,
      ...makeGroup(groups, turn.file.turn_id),
    });
    const limit = startTimeLimit(limitMs(turn, now()), signal);
    const exit = await waitForExit(directory, started, limit.signal).finally(limit.release);
    const output = join(directory, "stdout.jsonl");
    if (exit?.code !== 0) return undefined;
    // What the command started may still run, and write.
    const stored = await readHead(output, MAX_STORED_BYTES + 1);
    return stored.length > MAX_STORED_BYTES ? undefined : stored.toString("utf8");
  } finally {
    await clear(turn);
  }
}

function limitMs(turn: Turn, now: Date): number {
  const { timeout_ms: timeoutMs, started_at: startedAt } = turn.file;
  if (timeoutMs === 0 || startedAt === undefined) return LIMIT_MS;
  const ranMs = ranForMs(turn) ?? now.getTime() - Date.parse(startedAt);
  return Math.max(0, Math.min(LIMIT_MS, timeoutMs - ranMs));
}

/** Ends what runs there, and removes what it has left. */
async function clear(turn: Turn): Promise<void> {
  const directory = join(turn.directory, DIRECTORY);
  const processes = await sweepLeftovers(directory, { marker: turn.file.turn_id });
  await turn.send({ type: "processes_swept", processes });
  await rm(directory, { recursive: true, force: true });
}
