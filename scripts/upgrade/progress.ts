import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { UpgradeError } from "./candidate.ts";
import type { StepResult } from "./steps.ts";

const Result = z.object({
  name: z.enum(["probe", "matrix", "scenes", "tests"]),
  exitCode: z.int(),
  output: z.string(),
});
/** A process; its start time tells it from a later one of the same number. */
const Process = z.object({ pid: z.int(), began: z.string() });
const Kept = z.object({
  /** What the steps belong to: they count for no other version, options or source. */
  of: z.string(),
  steps: z.array(Result),
  temporary: z.string(),
  /** The run, and the step that it plays. */
  run: Process,
  running: Process.optional(),
});

/** How long a step may take to end its CLIs and remove what it made. */
const END_MS = 30_000;
const POLL_MS = 50;

/** The finished steps of a run, saved after each, so that the next run goes on. */
export interface Progress {
  readonly steps: readonly StepResult[];
  /** Records the process of a step, for the next run where this one is killed. */
  begin(pid: number): void;
  end(result: StepResult): void;
  /** Finishes the run: the next one begins anew. */
  finish(): void;
}

/**
 * Resumes an earlier run's progress in the directory, after ending the processes it left.
 *
 * @throws {UpgradeError} where that run is not over
 * @param of - differs where steps have to be played again
 * @param temporary - this run's directory, which the next one removes where this one is killed
 */
export async function openProgress(directory: string, of: string, temporary: string): Promise<Progress> {
  const path = join(directory, "progress.json");
  const before = read(path);
  if (before !== undefined && beginningOf(before.run.pid) === before.run.began)
    throw new UpgradeError(`process ${before.run.pid} is at it in ${directory}`);
  if (before?.running !== undefined) await endProcess(before.running);
  if (before !== undefined) rmSync(before.temporary, { recursive: true, force: true });
  const own = { of, temporary, run: describeProcess(process.pid) };
  let kept: z.infer<typeof Kept> = { ...own, steps: before?.of === of ? before.steps : [] };
  const keep = (next: typeof kept): void => {
    kept = next;
    // In one step: a run that is killed leaves the old file or the new one.
    writeFileSync(`${path}.new`, JSON.stringify(kept));
    renameSync(`${path}.new`, path);
  };
  keep(kept);
  return {
    get steps() {
      return kept.steps;
    },
    begin: (pid) => keep({ ...kept, running: describeProcess(pid) }),
    end: (result) => keep({ ...own, steps: [...kept.steps, result] }),
    finish: () => rmSync(path, { force: true }),
  };
}

/** A digest of every file below these, but for installed packages. */
export function digestOf(root: string, names: readonly string[]): string {
  const hash = createHash("sha256");
  const add = (path: string): void => {
    for (const entry of readdirSync(path, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const below = join(path, entry.name);
      if (entry.isDirectory() && entry.name !== "node_modules") add(below);
      else if (entry.isFile()) hash.update(`${below}\0`).update(readFileSync(below)).update("\0");
    }
  };
  for (const name of names) add(join(root, name));
  return hash.digest("hex");
}

function read(path: string): z.infer<typeof Kept> | undefined {
  try {
    return Kept.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    // None yet, or of another version of this program.
    if (error instanceof z.ZodError || error instanceof SyntaxError) return undefined;
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

/** Law: every wait is bounded. */
async function endProcess({ pid, began }: z.infer<typeof Process>): Promise<void> {
  const deadline = performance.now() + END_MS;
  for (let signal: NodeJS.Signals | 0 = "SIGTERM"; beginningOf(pid) === began; signal = 0) {
    if (performance.now() > deadline) signal = "SIGKILL";
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
      throw error;
    }
    await delay(POLL_MS);
    if (performance.now() > deadline + END_MS) throw new Error(`process ${pid} of the run before does not end`);
  }
}

function describeProcess(pid: number): z.infer<typeof Process> {
  return { pid, began: beginningOf(pid) ?? "" };
}

/** When a process began, in the kernel's ticks; undefined when it is gone or a zombie. @see proc(5) */
function beginningOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" ? undefined : fields[19];
  } catch {
    // It is gone.
    return undefined;
  }
}
