import { constants } from "node:fs";
import { lstat, open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { execa } from "execa";
import { z } from "zod";
import { GroupError, type CommandGroup } from "../cgroup/cgroup.ts";
import { ResourcesExhaustedError, throwIfExhausted } from "../exhausted.ts";
import { readTail } from "../../storage/read-bounded.ts";
import { asUser, type CliUser } from "../run-as.ts";
import { startTimeLimit } from "../time-limit.ts";
import type { Helper } from "../starter/starter.ts";

/**
 * What a keeper writes into `started`. Start times are in clock ticks since boot: pid and start time identify a
 * process.
 */
export interface StartedProcess {
  readonly keeperPid: number;
  readonly keeperStart: number;
  readonly pid: number;
  readonly pidStart: number;
  readonly isSubreaper: boolean;
}

/** What is started, and where its files are. */
export interface KeptCommand {
  /** Absolute path of `sandbox/keeper`. */
  readonly keeperPath: string;
  /** Holds `prompt.txt`, unless its stdin is a named pipe; the keeper adds the other files of docs/design.md §2. */
  readonly directory: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Entered with that user's rights: a link in it leads only where the user may go. */
  readonly cwd: string;
  readonly runAs: CliUser;
  /** The control group that the command enters before it runs; absent: it stays in turnd's. */
  readonly group?: CommandGroup;
  /** Of a server: its stdin is the named pipe `stdin` in that directory, which the keeper makes; absent: `prompt.txt`. */
  readonly isServer?: boolean;
  /** What starts the keeper; absent: it is a process of this one's. */
  readonly starter?: Helper;
  /** Gives it up: whoever aborts it makes sure with `takeStart` that nothing is started any more. */
  readonly signal?: AbortSignal;
  /** The longest that the start may take: the working directory may be on a disk that does not answer. */
  readonly limitMs?: number;
}

/** perl-base is part of every Debian. */
export const PERL = "/usr/bin/perl";

const StartedFile = z.object({
  keeper: z.int().positive(),
  keeper_start: z.int().nonnegative(),
  pid: z.int().positive(),
  pid_start: z.int().nonnegative(),
  subreaper: z.boolean(),
});

const ExitFile = z.object({ code: z.int().nullable(), signal: z.string().nullable() });

/** The command could not be started; nothing of it runs. */
export class KeeperError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KeeperError";
  }
}

/** The same, because the disk is full, read-only or broken. */
export class KeeperDiskError extends KeeperError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "KeeperDiskError";
  }
}

/** The keeper has not come to its start in time, and may do so yet, unless `takeStart` was first. */
export class StartHangsError extends KeeperError {
  constructor(limitMs: number) {
    super(
      `the keeper did not start the command within ${limitMs / 1_000} s: the disk of its directories does not answer`,
    );
    this.name = "StartHangsError";
  }
}

const START_LIMIT_MS = 60_000;

/**
 * Starts a command under a keeper of its own: prompt on stdin, stdout and stderr into files. Law: the recording is the
 * transport.
 *
 * The keeper holds nothing of this process and outlives it. Where an earlier daemon's keeper was first, its start
 * counts and nothing is started again. Law: at most once.
 * @returns once `started` names both processes
 * @throws {KeeperError} if the keeper could not do its work
 * @throws {StartHangsError}, or the signal's reason, where it was given up: it may be started yet
 * @throws {GroupError} if the command could not be put into its control group
 * @throws {ResourcesExhaustedError} if the keeper or the command could get no process
 */
export async function startKept(kept: KeptCommand): Promise<StartedProcess> {
  const { signal, limitMs = START_LIMIT_MS } = kept;
  const limit = startTimeLimit(limitMs, signal);
  try {
    return (await startByStarter(kept, limit.signal)) ?? (await startHere(kept, limit.signal));
  } catch (error) {
    throw limit.signal.aborted && signal?.aborted !== true ? new StartHangsError(limitMs) : error;
  } finally {
    limit.release();
  }
}

/**
 * @returns undefined where there is no starter that answers; it may have started the command all the same. Law: at most
 * once.
 */
async function startByStarter(kept: KeptCommand, signal: AbortSignal): Promise<StartedProcess | undefined> {
  if (kept.starter === undefined) return undefined;
  const variables = Object.entries(kept.env).map(([name, value]) => `${name}=${value}`);
  const [, ...args] = keeperArgs(kept, ["--killed-first", "--drop-rights"]);
  const answer = await kept.starter.ask(["keep", `${variables.length}`, ...variables, ...args], { signal });
  if (answer === undefined) return undefined;
  const started = answer.code === 0 ? parseStarted(answer.stdout) : undefined;
  return (
    started ?? adoptOrThrow(kept.directory, { exitCode: answer.code ?? undefined, originalMessage: answer.stderr })
  );
}

async function startHere(kept: KeptCommand, signal: AbortSignal): Promise<StartedProcess> {
  const files = await Promise.all([
    open(kept.isServer === true ? "/dev/null" : join(kept.directory, "prompt.txt"), READ),
    open(join(kept.directory, "stdout.jsonl"), APPEND, 0o600),
    open(join(kept.directory, "stderr.log"), APPEND, 0o600),
  ]);
  try {
    const [prompt, stdout, stderr] = files;
    const command = asUser(kept.runAs, kept.command);
    const keeper = execa(PERL, keeperArgs({ ...kept, command }, ["--killed-first"]), {
      ...keeperOptions(kept),
      // Streams over open files: the descriptors themselves are passed on, nothing is piped through this process.
      stdin: prompt.createReadStream(),
      stdout: stdout.createWriteStream(),
      stderr: stderr.createWriteStream(),
    });
    keeper.nodeChildProcess.unref();
    return await waitForStart(kept.directory, keeper, signal);
  } finally {
    await Promise.all(files.map((file) => file.close()));
  }
}

/** The command line of a keeper. */
export function keeperArgs(kept: KeptCommand, flags: readonly string[] = []): string[] {
  const { keeperPath, directory, runAs, cwd, command, group, isServer = false } = kept;
  const stdin = isServer ? ["--fifo"] : [];
  const joined = group?.directories.flatMap((path) => ["--group", path]) ?? [];
  return [keeperPath, directory, `${runAs.uid}`, `${runAs.gid}`, cwd, ...flags, ...stdin, ...joined, "--", ...command];
}

/** Holds nothing of this process but the descriptors it is given. */
export function keeperOptions({ env }: Pick<KeptCommand, "env">) {
  return { detached: true, cleanup: false, reject: false, buffer: false, extendEnv: false, env, cwd: "/" } as const;
}

/** Reads `started`; undefined when the turn never started, or its keeper ended before it had written its pids. */
export async function readStarted(directory: string): Promise<StartedProcess | undefined> {
  return toStarted(await readJson(join(directory, "started")));
}

function parseStarted(text: string): StartedProcess | undefined {
  return toStarted(JSON.parse(text));
}

function toStarted(content: unknown): StartedProcess | undefined {
  const parsed = StartedFile.safeParse(content);
  if (!parsed.success) return undefined;
  const { keeper, keeper_start, pid, pid_start, subreaper } = parsed.data;
  return { keeperPid: keeper, keeperStart: keeper_start, pid, pidStart: pid_start, isSubreaper: subreaper };
}

/** Reads `exit.json`: how the command ended; undefined while it runs, or when its keeper ended before it wrote it. */
export async function readExit(directory: string): Promise<z.infer<typeof ExitFile> | undefined> {
  const parsed = ExitFile.safeParse(await readJson(join(directory, "exit.json")));
  return parsed.success ? { code: parsed.data.code, signal: parsed.data.signal } : undefined;
}

/** Whether the turn's keeper lives: it holds a kernel lock on `started` for its whole life. */
export async function isKeeperAlive(directory: string): Promise<boolean> {
  // A keeper has made a regular file of it. flock(1) would wait for a pipe, and create what a dangling link names.
  if (!(await isFile(join(directory, "started")))) return false;
  // Node has no flock(2). Exit code 66 is chosen here, to distinguish "held by another" from a fault of the tool.
  const result = await execa(
    "/usr/bin/flock",
    ["--nonblock", "--conflict-exit-code", "66", join(directory, "started"), "/bin/true"],
    { reject: false, stdin: "ignore" },
  );
  if (result.exitCode === 0) return false;
  if (result.exitCode === 66) return true;
  throwIfExhausted(result.code);
  throw new Error(`flock failed on ${directory}/started: ${result.stderr}`);
}

const MAX_DAMAGED_LOOKS = 100;

async function isFile(path: string): Promise<boolean> {
  return lstat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}

async function sizeOf(path: string): Promise<number> {
  return lstat(path).then(
    (found) => found.size,
    () => 0,
  );
}

/**
 * Waits for what a keeper has begun to write into `started`, while that keeper lives.
 *
 * @returns undefined when it ended first (then its command never ran), or where what it wrote is damaged
 */
export async function adoptStarted(directory: string): Promise<StartedProcess | undefined> {
  // A keeper takes its lock right after it has made the file; the second check covers that instant.
  for (let [freeLooks, damagedLooks] = [0, 0]; freeLooks < 2;) {
    const started = await readStarted(directory);
    if (started !== undefined) return started;
    // It is written at once: an incomplete file stays incomplete.
    damagedLooks += (await sizeOf(join(directory, "started"))) > 0 ? 1 : 0;
    if (damagedLooks > MAX_DAMAGED_LOOKS) return undefined;
    freeLooks = (await isKeeperAlive(directory)) ? 0 : freeLooks + 1;
    await delay(freeLooks === 0 ? 5 : 100);
  }
  return readStarted(directory);
}

const READ = constants.O_RDONLY | constants.O_NONBLOCK;
/** Never waits for the reader of a pipe in place of the file. */
const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;

interface KeeperEnd {
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  /** The system's error code, where perl could not be started. */
  readonly code?: string | undefined;
  /** The system's message, where perl could not be started. */
  readonly originalMessage?: string | undefined;
}

/**
 * Exit codes of the keeper: another keeper was first; the disk refused its files; its fork failed; no control group.
 */
const ALREADY_STARTED = 3;
const DISK_FAULT = 5;
const NO_PROCESS = 6;
const NO_GROUP = 7;
const MAX_QUOTED_CHARACTERS = 500;
const MAX_TAIL_BYTES = 65_536;

/** Resolves when the keeper has written `started`. @throws why nothing runs, or the signal's reason */
export async function waitForStart(
  directory: string,
  keeper: PromiseLike<KeeperEnd>,
  signal?: AbortSignal,
): Promise<StartedProcess> {
  let ended: KeeperEnd | undefined;
  const end = Promise.resolve(keeper).then((result) => (ended = result));
  for (;;) {
    // Checked before `started` is read: a keeper that ends at once may still have started its command.
    const hasEnded = ended !== undefined;
    const started = await readStarted(directory);
    if (started !== undefined) return started;
    if (hasEnded) break;
    signal?.throwIfAborted();
    await Promise.race([end, delay(2)]);
  }
  return adoptOrThrow(directory, ended ?? {});
}

/** What an earlier keeper has started, where there was one. @throws why nothing runs */
async function adoptOrThrow(directory: string, ended: KeeperEnd): Promise<StartedProcess> {
  const other = ended.exitCode === ALREADY_STARTED ? await adoptStarted(directory) : undefined;
  if (other !== undefined) return other;
  throwIfExhausted(ended.code);
  if (ended.exitCode === NO_PROCESS) throw new ResourcesExhaustedError("the turn's keeper could not fork");
  const isDisk = ended.exitCode === DISK_FAULT;
  // Its command line explains nothing, and on a full disk its own message is lost.
  const why = (await readLastLine(join(directory, "stderr.log"))) ?? (isDisk ? undefined : ended.originalMessage);
  const how = ended.signal === undefined ? `exit code ${ended.exitCode ?? "none"}` : ended.signal;
  if (isDisk) throw new KeeperDiskError(`the keeper's files could not be written: ${why ?? how}`);
  if (ended.exitCode === NO_GROUP) throw new GroupError(`the control group could not be used: ${why ?? how}`);
  throw new KeeperError(`the keeper could not start the command: ${why ?? how}`);
}

/** The last line that a program printed which ended at once. */
async function readLastLine(path: string): Promise<string | undefined> {
  const text = (await readTail(path, MAX_TAIL_BYTES).catch(() => "")).toString();
  return text.trimEnd().split("\n").at(-1)?.slice(0, MAX_QUOTED_CHARACTERS) || undefined;
}

async function readJson(path: string): Promise<unknown> {
  try {
    // A pipe in its place counts as empty; there is no wait for it.
    const flag = constants.O_RDONLY | constants.O_NONBLOCK;
    return JSON.parse(await readFile(path, { encoding: "utf8", flag }));
  } catch {
    // It does not exist or is still being written: nothing is known yet.
    return undefined;
  }
}
