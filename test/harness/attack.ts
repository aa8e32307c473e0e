import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { asUser } from "../../src/turnd/daemon/process/run-as.ts";
import { CLI_USER, REPOSITORY } from "./temporary.ts";

/** A program that attacks turnd as the CLIs' user would. */
export interface Attack {
  /** Resolves when it has ended, with the lines that it printed after `ready`. */
  readonly said: Promise<string[]>;
  /** Kills it. */
  end(): void;
}

/** Starts one of test/programs as the CLIs' user; resolves when it has printed `ready`. */
export async function startAttack(name: string, ...args: readonly string[]): Promise<Attack> {
  const [file = "", ...rest] = asUser(CLI_USER, ["/usr/bin/perl", "-", ...args]);
  // By its descriptor: the repository may lie where that user cannot go.
  const program = openSync(join(REPOSITORY, "test/programs", name), "r");
  const child = spawn(file, rest, { cwd: "/", stdio: [program, "pipe", "inherit"] });
  closeSync(program);
  if (child.stdout === null) throw new Error("no pipe from the attack");
  const end = (): void => void child.kill("SIGKILL");
  onTestFinished(end);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const first = await lines.next();
  if (first.value !== "ready") throw new Error(`${name} was not ready: ${first.value}`);
  const readRest = async (): Promise<string[]> => {
    const said: string[] = [];
    for (let next = await lines.next(); next.done !== true; next = await lines.next()) said.push(next.value);
    return said;
  };
  return { said: readRest(), end };
}
