import { type ChildProcess, spawn } from "node:child_process";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const MAIN = join(import.meta.dirname, "../../src/scripted-model/main.ts");
/** How long a port may still be held by the model of a service that was killed. */
const PORT_LIMIT_MS = 5_000;
const RESTART_MS = 1_000;

export interface ModelOptions {
  /** Keeps the port, so that a turnd that outlived its service finds the model of the next one. */
  readonly directory: string;
  /** Undefined: the last port, otherwise a free one. */
  readonly port: number | undefined;
  readonly say: (text: string) => void;
}

/**
 * Starts the scripted model as a process of its own, and again whenever it ends. It ends with this process, however that
 * ends: its standard input is a pipe from here.
 *
 * @returns its base URL, the same for as long as this process lives
 */
export async function keepScriptedModel({ directory, port, say }: ModelOptions): Promise<string> {
  const file = join(directory, "scripted-model-port");
  const known = port ?? (await readPort(file));
  const { child, url } = await startWithin(known).catch((error: unknown) => {
    if (port !== undefined) throw error;
    // Another program uses the last port now.
    return start(0);
  });
  const bound = Number(new URL(url).port);
  await writeFile(`${file}.new`, `${bound}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  void keep(child);
  return url;

  async function keep(living: ChildProcess): Promise<void> {
    for (let current = living; ;) {
      const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve) => {
        if (current.exitCode !== null || current.signalCode !== null) resolve([current.exitCode, current.signalCode]);
        else current.once("exit", (...exit) => resolve(exit));
      });
      say(`the scripted model ended (${signal ?? `exit code ${code}`}); it is started again at ${url}`);
      await delay(RESTART_MS);
      const next = await startWithin(bound).catch((error: unknown) => {
        say(error instanceof Error ? error.message : String(error));
        return undefined;
      });
      if (next !== undefined) current = next.child;
    }
  }
}

interface StartedModel {
  readonly child: ChildProcess;
  readonly url: string;
}

async function startWithin(port: number): Promise<StartedModel> {
  const deadline = performance.now() + PORT_LIMIT_MS;
  for (;;) {
    try {
      return await start(port);
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await delay(200);
    }
  }
}

async function start(port: number): Promise<StartedModel> {
  const child = spawn(process.execPath, [MAIN, "--port", String(port), "--end-with-stdin"], {
    stdio: ["pipe", "pipe", "pipe"],
    // A session of its own: Ctrl-C of a terminal must not take the model from turns that are being stopped.
    detached: true,
  });
  // A model that has ended takes no input; that is what `exit` reports.
  child.stdin.on("error", () => undefined);
  const errors: string[] = [];
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors.push(text));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("exit", () => {
      const reason = /Error: .*/.exec(errors.join(""))?.[0] ?? errors.join("").trim();
      reject(new Error(`the scripted model did not start on port ${port}: ${reason}`));
    });
  });
  // Later output is passed through, not kept.
  child.stderr.removeAllListeners("data").pipe(process.stderr, { end: false });
  for (const handle of [child, child.stdin, child.stdout, child.stderr]) if ("unref" in handle) handle.unref();
  return { child, url };
}

async function readPort(file: string): Promise<number> {
  const text = await readFile(file, "utf8").catch(() => "");
  const port = Number(text);
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : 0;
}
