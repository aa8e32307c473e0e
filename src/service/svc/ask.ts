import { createInterface } from "node:readline/promises";
import { interrupted } from "./client.ts";
import type { Context } from "./context.ts";

/** Asks a person a question that is answered with yes or no; anything but yes is no. */
export async function askYes({ stdin, stderr, signal }: Context, question: string): Promise<boolean> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    const answer = await Promise.race([lines.question(`${question} [y/N] `, { signal }), closed(lines)]);
    return /^y(es)?$/i.test(answer.trim());
  } catch (error) {
    throw signal.aborted ? interrupted() : error;
  } finally {
    lines.close();
  }
}

/** Ctrl-D answers nothing, and Ctrl-C goes to readline instead of the process. */
function closed(lines: ReturnType<typeof createInterface>): Promise<string> {
  return new Promise((resolve, reject) => {
    lines.once("close", () => resolve(""));
    lines.once("SIGINT", () => reject(interrupted()));
  });
}
