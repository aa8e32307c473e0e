import { lstat, open, writeFile, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { z } from "zod";
import { defined } from "../../../../kit/defined.ts";
import type { CommandGroup, GroupsState } from "../../process/cgroup/cgroup.ts";
import type { RunAs } from "../../process/run-as.ts";
import { runTask } from "../../process/run-tool.ts";
import { startAsUser } from "../../process/user-process.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import { readRegular } from "../../storage/read-regular.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { changeStoreOf, findAccessGroup, makeChangeStore, removeChangeStore } from "./change-store.ts";

/** How the changes of turns are found out. */
export interface ChangeOptions {
  /** What git takes for `.git`: turnd's own, so that no repository configures it. */
  readonly gitDirectory: string;
  /** Most milliseconds before a turn starts, and again after its end. */
  readonly timeoutMs: number;
  /** Most bytes of a workspace that is in no repository, which git copies. */
  readonly maxCopyBytes: number;
  /** Most bytes of one diff. */
  readonly maxBytes: number;
  /** Whether a turn has a diff whose request does not say. */
  readonly isDefault: boolean;
}

export interface RecorderOptions {
  readonly changes: ChangeOptions;
  readonly runAs: RunAs;
  /** Whether git gets a control group of its own, with the limits of a turn. */
  readonly groups: GroupsState;
  readonly sessions: Pick<SessionStore, "get" | "paths" | "update">;
}

/** Records what turns change in their workspaces. */
export interface ChangeRecorder {
  /**
   * Records the workspace before a turn's process starts, where the turn is to have a diff. Never throws.
   *
   * @returns why the turn will have no diff, where it was to have one and that is known now; once
   */
  before(turn: Turn, logger: Logger, signal: AbortSignal): Promise<string | undefined>;
  /** Writes the diff of a turn that has ended, before the next one of its session starts. Never throws. */
  after(turn: Turn, logger: Logger): Promise<void>;
}

/** Of the turn's directory: what is known of its changes, and the diff. */
export const CHANGES_FILE = "changes.json";
export const DIFF_FILE = "changes.diff";

/** `changes.json`. */
export const ChangesFile = z.object({
  /** The tree that the workspace was before the turn. */
  before: z.string().optional(),
  /** Why there is no diff. */
  none: z.string().optional(),
  /** Of `changes.diff`, once it is there. */
  bytes: z.int().nonnegative().optional(),
  is_truncated: z.boolean().optional(),
  /** What is in no tree: files that git could not convert, and repositories in a workspace that is in none. */
  left_out: z.array(z.object({ path: z.string(), reason: z.string() })).optional(),
});
export type ChangesFile = z.infer<typeof ChangesFile>;

const TREE = /^tree ([0-9a-f]{40})$/m;
const NONE = /^none ([^\n]{1,300})$/m;
const LEFT_OUT = /^left ([0-9a-f]+) ([0-9a-f]+)$/gm;

/** Makes the recorder of a daemon. */
export function createChangeRecorder(options: RecorderOptions): ChangeRecorder {
  return {
    async before(turn, logger, signal) {
      if (turn.file.diff !== true || (await readChanges(turn)) !== undefined) return undefined;
      try {
        await makeChangeStore(options, turn, findAccessGroup(options.runAs));
        const found = await snapshot(options, turn, signal);
        await writeChanges(turn, "tree" in found ? { before: found.tree, ...found.leftOut } : found);
        return "none" in found ? found.none : undefined;
      } catch (error) {
        if (signal.aborted) return undefined;
        logger.warn({ turnId: turn.file.turn_id, err: error }, "workspace could not be recorded before the turn");
        return "the workspace could not be recorded before the turn";
      }
    },
    async after(turn, logger) {
      if (turn.file.diff !== true) return;
      try {
        await recordDiff(options, turn);
      } catch (error) {
        logger.warn({ turnId: turn.file.turn_id, err: error }, "diff of the turn could not be written");
      }
      await removeChangeStore(options, turn).catch((error: unknown) => {
        logger.warn({ turnId: turn.file.turn_id, err: error }, "what git needed for a diff could not be removed");
      });
    },
  };
}

async function recordDiff(options: RecorderOptions, turn: Turn): Promise<void> {
  const recorded = await readChanges(turn);
  if (recorded?.before === undefined || recorded.bytes !== undefined) return;
  if (!(await isDirectory(changeStoreOf(options, turn)))) {
    return writeChanges(turn, { none: "what git had recorded before the turn is gone" });
  }
  const found = await snapshot(options, turn);
  if ("none" in found) return await writeChanges(turn, found);
  const diff = await writeDiff(options, turn, [recorded.before, found.tree]);
  await writeChanges(turn, { ...recorded, ...found.leftOut, ...diff });
}

async function isDirectory(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

/** What is known of a turn's changes; undefined where nothing is. */
export async function readChanges({ directory }: Pick<Turn, "directory">): Promise<ChangesFile | undefined> {
  try {
    const text = (await readRegular(join(directory, CHANGES_FILE))).toString("utf8");
    return ChangesFile.safeParse(JSON.parse(text)).data;
  } catch {
    // Not there yet, or damaged: there is no diff then.
    return undefined;
  }
}

async function writeChanges({ directory }: Turn, changes: ChangesFile): Promise<void> {
  await writeFile(join(directory, CHANGES_FILE), `${JSON.stringify(changes)}\n`, { mode: 0o600 });
}

/** A workspace as git has recorded it. */
interface Snapshot {
  readonly tree: string;
  readonly leftOut: Pick<ChangesFile, "left_out">;
}

async function snapshot(
  options: RecorderOptions,
  turn: Turn,
  signal?: AbortSignal,
): Promise<Snapshot | { readonly none: string }> {
  const { runAs, changes } = options;
  const accessGroup = findAccessGroup(runAs);
  const limits = { runAs, accessGroup, timeoutMs: changes.timeoutMs, ...defined({ signal }) };
  const task = [...taskOf(options, turn, "snapshot"), String(changes.maxCopyBytes)];
  const { code, stdout } = await inGroup(options, turn, (group) => runTask(task, { ...limits, ...group }));
  const tree = TREE.exec(stdout)?.[1];
  if (tree !== undefined) return { tree, leftOut: readLeftOut(stdout) };
  const reason = NONE.exec(stdout)?.[1];
  if (reason !== undefined) return { none: reason };
  const late = `git did not read the workspace within ${changes.timeoutMs} ms (TURND_DIFF_TIMEOUT_MS)`;
  return { none: code === null ? late : "git is not there, or failed" };
}

function readLeftOut(stdout: string): Snapshot["leftOut"] {
  const decode = (hex = ""): string => Buffer.from(hex, "hex").toString("utf8");
  const files = [...stdout.matchAll(LEFT_OUT)].map(([, path, reason]) => ({
    path: decode(path),
    reason: decode(reason),
  }));
  return files.length === 0 ? {} : { left_out: files };
}

function taskOf(options: RecorderOptions, turn: Turn, task: string): string[] {
  const workspace = Buffer.from(turn.file.workspace).toString("hex");
  return ["changes", task, options.changes.gitDirectory, changeStoreOf(options, turn), workspace];
}

/** What a tool has put into the workspace may make git need any amount of memory: where turns have limits, it has the same. */
async function inGroup<T>(
  { groups: { groups } }: RecorderOptions,
  { file }: Turn,
  run: (group: { readonly group?: CommandGroup }) => Promise<T>,
): Promise<T> {
  if (groups === undefined) return run({});
  const marker = `diff-${file.turn_id}`;
  const group = groups.make(marker);
  try {
    return await run({ group });
  } finally {
    await groups.remove(marker);
  }
}

/** The process has one pipe that is read; what is more than the limit, or comes too late, is cut off. */
async function writeDiff(
  options: RecorderOptions,
  turn: Turn,
  trees: readonly string[],
): Promise<Pick<ChangesFile, "bytes" | "is_truncated">> {
  const { runAs, changes } = options;
  const task = [...taskOf(options, turn, "diff"), ...trees];
  const output = await open(join(turn.directory, DIFF_FILE), "w", 0o600);
  try {
    return await inGroup(options, turn, async (group) => {
      const git = startAsUser(task, { runAs, accessGroup: findAccessGroup(runAs), ...group });
      git.stdin.end();
      git.stderr.resume();
      const timer = setTimeout(() => {
        git.end();
        // Whoever was handed its pipe cannot hold this up.
        void git.ended.finally(() => git.stdout.destroy()).catch(() => undefined);
      }, changes.timeoutMs);
      try {
        const { bytes, isCut } = await copyUpTo(git.stdout, output, changes.maxBytes);
        if (isCut) git.end();
        const code = await git.ended;
        return { bytes, ...(isCut || code !== 0 ? { is_truncated: true } : {}) };
      } finally {
        clearTimeout(timer);
        git.end();
        git.stdout.destroy();
      }
    });
  } finally {
    await output.close();
  }
}

async function copyUpTo(from: AsyncIterable<Buffer>, to: FileHandle, max: number) {
  let bytes = 0;
  for await (const chunk of from) {
    const kept = chunk.subarray(0, max - bytes);
    await to.write(kept);
    bytes += kept.length;
    if (kept.length < chunk.length) return { bytes, isCut: true };
  }
  return { bytes, isCut: false };
}
