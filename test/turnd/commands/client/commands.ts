import { execa } from "execa";
import { inject } from "vitest";
import { waitFor } from "../../../harness/wait-for.ts";

export interface CommandOptions {
  readonly env?: Record<string, string>;
  /** Its standard input; null leaves it open. */
  readonly input?: string | null;
}

/** Starts `turnd <args>` as a person does, who has nothing but this environment. */
export function startCommand(url: string, args: readonly string[], { env = {}, input = "" }: CommandOptions = {}) {
  const child = execa(process.execPath, [inject("turnd"), ...args], {
    extendEnv: false,
    reject: false,
    stdin: "pipe",
    env: { PATH: process.env["PATH"], HOME: "/nowhere", TURND_URL: url, ...env },
  });
  // A command that ends before it has read everything is judged by what it prints.
  child.stdin.on("error", () => undefined);
  if (input !== null) child.stdin.end(input);
  return child;
}

/** The same until its end. */
export async function runCommand(url: string, args: readonly string[], env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await startCommand(url, args, { env });
  return { exitCode, stdout, stderr };
}

/** The same with a terminal, that is 80 columns wide. */
export async function runOnTerminal(url: string, args: readonly string[], env: Record<string, string> = {}) {
  const line = [process.execPath, inject("turnd"), ...args]
    .map((word) => `'${word.replaceAll("'", "'\\''")}'`)
    .join(" ");
  const { exitCode, stdout } = await execa("script", ["-qec", `stty cols 80 rows 24; ${line}`, "/dev/null"], {
    extendEnv: false,
    reject: false,
    stdin: "ignore",
    env: { PATH: process.env["PATH"], HOME: "/nowhere", TERM: "xterm", TURND_URL: url, ...env },
  });
  return { exitCode, stdout };
}

/** What a started command has printed so far, for a test that waits for a part of it. */
export function collect(stream: NodeJS.ReadableStream | null): { has(part: string): Promise<true> } {
  let text = "";
  stream?.on("data", (chunk: Buffer) => (text += chunk.toString()));
  return {
    async has(part) {
      await waitFor(part, () => text.includes(part)).catch((error: unknown) => {
        throw new Error(`in: ${text.slice(0, 2_000)}`, { cause: error });
      });
      return true;
    },
  };
}
