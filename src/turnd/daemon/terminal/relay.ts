import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, readFile } from "node:fs/promises";
import { join, basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import { defined } from "../../../kit/defined.ts";
import type { TerminalSize } from "../../protocol/index.ts";
import { PERL } from "../process/keeper/keeper.ts";
import { startKeptOnPipes } from "../process/keeper/piped-keeper.ts";
import { sweepLeftovers } from "../process/keeper/leftovers.ts";
import { asUser } from "../process/run-as.ts";
import type { ProcessTree } from "../process/keeper/tree.ts";
import type { TerminalContext } from "./terminal-parts.ts";

/** A shell's processes and the two pipes to its terminal. */
export interface Relay {
  /** Holds the keeper's files; removed by the code that ends the shell. */
  readonly directory: string;
  readonly tree: ProcessTree;
  /** Frames of `sandbox/pty-relay`. */
  readonly stdin: Writable;
  readonly stdout: Readable;
}

/** Largest payload of a frame. Source: `sandbox/pty-relay`. */
const FRAME_BYTES = 32_768;

/**
 * Starts a shell on a terminal of its own, under a keeper, as the CLIs' user.
 *
 * The terminal belongs to the relay, not to node-pty: there, writing to a program that does not read blocks the whole
 * process (measured; node-pty#831), and descriptors leak into what turnd starts. Here a pipe accepts what it can.
 * @throws {KeeperError} when nothing could be started
 * @throws {GroupError} when it cannot have its control group
 */
export async function startRelay(context: TerminalContext, cwd: string, size: TerminalSize): Promise<Relay> {
  const marker = randomUUID();
  const directory = join(shellsDirectory(context), marker);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const { runAs, keeperPath, relayPath } = context;
  const numbers = [size.cols, size.rows, runAs.uid, runAs.gid].map(String);
  const group = context.groups?.make(marker);
  const kept = await startKeptOnPipes({
    keeperPath,
    directory,
    command: [PERL, relayPath, ...numbers, "--", ...asUser(runAs, [SHELL])],
    env: await shellEnvironment(context, marker),
    cwd,
    runAs,
    ...defined({ group }),
  }).catch(async (error: unknown) => {
    await removeShellGroup(context, marker);
    throw error;
  });
  const tree = { started: kept.started, ...markOf(context, marker) };
  return { directory, tree, stdin: kept.stdin, stdout: kept.stdout };
}

/** Ends what an earlier turnd left when it was killed. */
export async function sweepRelays(context: TerminalContext): Promise<void> {
  const directory = shellsDirectory(context);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  for (const marker of await readdir(directory)) {
    const ended = await sweepLeftovers(join(directory, marker), markOf(context, marker));
    if (ended.length > 0) context.logger.info({ ended: ended.length }, "shell of an earlier turnd ended");
    await removeShellGroup(context, marker);
    await rm(join(directory, marker), { recursive: true, force: true });
  }
}

/** Removes the control group of a shell whose processes have ended. Never throws: the next start tries again. */
export async function removeShellGroup({ groups, logger }: TerminalContext, marker: string): Promise<void> {
  try {
    const isGone = (await groups?.remove(marker)) ?? true;
    if (!isGone) logger.warn({ marker }, "control group of a shell is left");
  } catch (error) {
    logger.warn({ marker, err: error }, "control group of a shell could not be removed");
  }
}

/** What distinguishes a shell's processes from all others. */
function markOf({ groups }: TerminalContext, marker: string): Omit<ProcessTree, "started"> {
  const mark = { marker, markerName: SHELL_MARKER };
  return groups === undefined ? mark : { ...mark, group: groups.find(marker) };
}

/** Keys for the shell, as frames. */
export function* frameKeys(keys: Uint8Array): Generator<Buffer> {
  for (let at = 0; at < keys.length; at += FRAME_BYTES) yield frame("i", keys.subarray(at, at + FRAME_BYTES));
}

/** A new size, as a frame. */
export function frameSize({ cols, rows }: TerminalSize): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt16BE(cols, 0);
  payload.writeUInt16BE(rows, 2);
  return frame("r", payload);
}

function frame(type: "i" | "r", payload: Uint8Array): Buffer {
  const head = Buffer.alloc(5, type);
  head.writeUInt32BE(payload.length, 1);
  return Buffer.concat([head, payload]);
}

function shellsDirectory({ stateDirectory }: TerminalContext): string {
  return join(stateDirectory, "shells");
}

/** The environment variable that marks every process of a shell. */
const SHELL_MARKER = "TURND_SHELL_ID";

/** The program of a shell. Not a login shell: that would replace the CLIs' PATH by the one of /etc/profile. */
const SHELL = "/bin/bash";

/** The whole environment of a shell: the allow-list, the user, and the kind of terminal that the page is. */
async function shellEnvironment(
  { baseEnv, homeDirectory, runAs }: TerminalContext,
  marker: string,
): Promise<Record<string, string>> {
  const user = (await findUserName(runAs.uid)) ?? basename(homeDirectory);
  return {
    // The page sends UTF-8.
    ...(baseEnv["LC_ALL"] === undefined ? { LANG: "C.UTF-8" } : {}),
    ...baseEnv,
    HOME: homeDirectory,
    USER: user,
    LOGNAME: user,
    SHELL,
    TERM: "xterm-256color",
    COLORTERM: "truecolor",
    [SHELL_MARKER]: marker,
  };
}

/** The name of a uid; undefined where /etc/passwd has none. */
async function findUserName(uid: number): Promise<string | undefined> {
  const users = (await readFile("/etc/passwd", "utf8")).split("\n").map((line) => line.split(":"));
  return users.find((fields) => fields[2] === String(uid))?.[0];
}
