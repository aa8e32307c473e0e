import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { TurndUnreachable } from "../../../turnd/client/errors.ts";
import type { TurndClient } from "../../../turnd/client/turnd-client.ts";
import { connectTurnd } from "../connect-turnd.ts";
import { decisiveVariables } from "./decisive-variables.ts";

/** A turnd of ours that answers. */
export interface TurndChild {
  readonly pid: number;
  readonly url: string;
  readonly generation: number;
  readonly client: TurndClient;
  /** What it warned of while it started; none of one that runs already. */
  readonly warnings: readonly string[];
}

export interface ChildOptions {
  readonly dataDirectory: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly startMs: number;
  readonly stopMs: number;
  readonly tokenOf: (generation: number) => string;
}

/** What a restarted service needs to take its turnd up again. */
const Note = z.object({
  pid: z.int(),
  started: z.string(),
  url: z.string(),
  generation: z.int(),
  /** What it was started with; absent in notes of earlier versions. */
  configuration: z.string().optional(),
});
type Note = z.infer<typeof Note>;

const POLL_MS = 100;
const TAIL_BYTES = 2_000;

/**
 * The turnd that an earlier process of the service has started, where it still runs.
 *
 * One that was started with other settings is stopped: a provider's key that was changed must be the one that is used. So is one
 * that refuses our token, as after another SERVICE_SANDBOX_SECRET, or that does not answer within the time of a start: it holds
 * the state that the next one needs.
 */
export async function findRunning(options: ChildOptions, signal: AbortSignal): Promise<TurndChild | undefined> {
  const note = await readNote(options.dataDirectory);
  if (note === undefined || (await startOf(note.pid)) !== note.started) return undefined;
  const client = connectTurnd({ baseUrl: note.url, token: options.tokenOf(note.generation) });
  const isAsMeant = note.configuration === describeConfiguration(options, note.generation);
  if (!isAsMeant || !(await isAnswering(client, { ...options, ...note }, signal))) {
    await stopChild(options.dataDirectory, note.pid, options.stopMs);
    return undefined;
  }
  return { pid: note.pid, url: note.url, generation: note.generation, client, warnings: [] };
}

/** Waits for one that is still starting, or busy; not for one that refuses. */
async function isAnswering(
  client: TurndClient,
  { startMs, dataDirectory, pid }: Pick<ChildOptions, "startMs" | "dataDirectory"> & Pick<Note, "pid">,
  signal: AbortSignal,
): Promise<boolean> {
  const deadline = performance.now() + startMs;
  for (;;) {
    try {
      await client.executors({ signal });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TurndUnreachable) || performance.now() > deadline) return false;
    }
    if (!(await isRunning(dataDirectory, pid))) return false;
    await delay(POLL_MS, undefined, { signal });
  }
}

/** Keyed, so that it reveals nothing about a secret in the settings. */
function describeConfiguration({ command, env, tokenOf }: ChildOptions, generation: number): string {
  return createHmac("sha256", tokenOf(generation))
    .update(JSON.stringify([command, decisiveVariables(env)]))
    .digest("hex");
}

/** Starts turnd in a session of its own and waits until it is ready. @throws with the last of its log */
export async function startChild(options: ChildOptions, generation: number, signal: AbortSignal): Promise<TurndChild> {
  const { dataDirectory, command } = options;
  const token = options.tokenOf(generation);
  const port = await freePort();
  const logPath = join(dataDirectory, "turnd.log");
  // A file, not a pipe: turnd goes on when the service is killed.
  const log = await open(logPath, "a", 0o600);
  const { size: logStart } = await log.stat();
  const [program = "", ...args] = command;
  const child = spawn(program, args, {
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: { ...options.env, TURND_HOST: "127.0.0.1", TURND_PORT: String(port), TURND_TOKEN: token },
  });
  await log.close();
  const pid = child.pid ?? 0;
  let exit: string | undefined;
  child.once("error", (error) => (exit = error.message));
  child.once("exit", (code, killedBy) => (exit = `exit code ${code ?? killedBy}`));
  const url = `http://127.0.0.1:${port}`;
  // Before it is ready: a service that is killed meanwhile must find it, or its state would stay locked.
  const configuration = describeConfiguration(options, generation);
  await writeNote(dataDirectory, { pid, url, generation, configuration, started: (await startOf(pid)) ?? "" });
  const client = connectTurnd({ baseUrl: url, token });
  const deadline = performance.now() + options.startMs;
  try {
    for (;;) {
      signal.throwIfAborted();
      if (exit !== undefined) throw new Error(`turnd ended at its start (${exit}): ${await tailOf(logPath)}`);
      const isUp = await client.ready({ signal }).then(
        () => true,
        () => false,
      );
      if (isUp) break;
      if (performance.now() > deadline) {
        throw new Error(`turnd did not answer within ${options.startMs} ms: ${await tailOf(logPath)}`);
      }
      await delay(POLL_MS, undefined, { signal });
    }
  } catch (error) {
    // Also when the service stops meanwhile: what was started is not left running.
    await stopChild(dataDirectory, pid, options.stopMs);
    throw error;
  }
  child.unref();
  return { pid, url, generation, client, warnings: await readWarnings(logPath, logStart) };
}

/** Whether it still runs, and is no other process of the same number. */
export async function isRunning(dataDirectory: string, pid: number): Promise<boolean> {
  const note = await readNote(dataDirectory);
  return note?.pid === pid && (await startOf(pid)) === note.started;
}

/** Asks it to stop, and waits until it is gone. */
export async function stopChild(dataDirectory: string, pid: number, withinMs: number): Promise<void> {
  if (!(await isRunning(dataDirectory, pid))) return;
  process.kill(pid, "SIGTERM");
  const deadline = performance.now() + withinMs;
  while (await isRunning(dataDirectory, pid)) {
    if (performance.now() > deadline) {
      process.kill(pid, "SIGKILL");
      break;
    }
    await delay(POLL_MS);
  }
  await rm(join(dataDirectory, "turnd.json"), { force: true });
}

/** When a process began, in the kernel's ticks; undefined when it is gone or a zombie. @see proc(5) */
async function startOf(pid: number): Promise<string | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields === undefined || fields[0] === "Z" ? undefined : fields[19];
}

async function readNote(dataDirectory: string): Promise<Note | undefined> {
  try {
    return Note.parse(JSON.parse(await readFile(join(dataDirectory, "turnd.json"), "utf8")));
  } catch {
    // None, or half of one: then there is none to take up.
    return undefined;
  }
}

async function writeNote(dataDirectory: string, note: Note): Promise<void> {
  const path = join(dataDirectory, "turnd.json");
  await writeFile(`${path}.new`, JSON.stringify(note), { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function tailOf(path: string): Promise<string> {
  return (await readFile(path, "utf8").catch(() => "")).slice(-TAIL_BYTES).trim();
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** A line of pino's, as far as it is read. */
const LogLine = z.object({ level: z.int(), msg: z.string() });
const WARN = 40;
/** What a start writes is a few lines. */
const MOST_BYTES = 262_144;

/** The warnings and errors that a turnd has logged behind a place of its log: nobody else reads that file. */
async function readWarnings(logPath: string, from: number): Promise<string[]> {
  const file = await open(logPath, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MOST_BYTES), 0, MOST_BYTES, from);
    return buffer
      .toString("utf8", 0, bytesRead)
      .split("\n")
      .flatMap((line) => {
        const read = LogLine.safeParse(parseJson(line));
        return read.success && read.data.level >= WARN ? [read.data.msg] : [];
      });
  } finally {
    await file.close();
  }
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    // Words of the program that starts turnd, or the last line of what was read.
    return undefined;
  }
}
