import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { CLI_USER, REPOSITORY } from "./temporary.ts";
import { waitFor } from "./wait-for.ts";

/** What `npm run service` starts, in a process of its own. */
export interface NpmService {
  readonly pid: number;
  /** Where it answers. */
  readonly url: string;
  /** Everything it has printed. */
  output(): string;
  /** Sends a signal and waits until it is gone. @returns its exit code; undefined after a signal that it did not catch */
  end(signal: NodeJS.Signals): Promise<number | undefined>;
}

/** Variables of other tests and of the machine must not lead it elsewhere. */
const FOREIGN = /^(SERVICE_|SVC_|TURND_|CLI_|DATABASE_URL(_FILE)?$|npm_)/;

/**
 * Runs `npm run service` on a data directory until it ends by itself.
 *
 * @param through - what starts it, its own command line behind
 */
export function runService(
  directory: string,
  env: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
) {
  const own = Object.entries(process.env).filter(([name]) => !FOREIGN.test(name));
  const [command, ...args] = [...through, process.execPath, join(REPOSITORY, "scripts/service.ts")] as const;
  return execa(command ?? "", args, {
    extendEnv: false,
    // No test makes a user on the machine that runs it, unless it has accounts of its own (`test/harness/own-accounts.ts`).
    env: {
      ...Object.fromEntries(own),
      SERVICE_DATA_DIR: directory,
      SERVICE_PORT: "0",
      ...(CLI_USER.isSelf ? {} : { TURND_RUN_AS: `${CLI_USER.uid}:${CLI_USER.gid}` }),
      ...env,
    },
    reject: false,
    stdin: "ignore",
    all: true,
    // Its own limit decides, which a loaded machine may need.
    forceKillAfterDelay: false,
    cleanup: true,
  });
}

/** Starts it and waits for its next steps. Processes that it leaves are ended with the test. */
export async function startNpmService(
  directory: string,
  env: Readonly<Record<string, string>> = {},
  through: readonly string[] = [],
): Promise<NpmService> {
  const child = runService(directory, env, through);
  const lines: string[] = [];
  const { promise: described, resolve } = Promise.withResolvers<string>();
  createInterface({ input: child.all }).on("line", (line) => {
    lines.push(line);
    const url = /(http:\/\/[^ ]+)\/docs/.exec(line)?.[1];
    if (url !== undefined) resolve(url);
  });
  const ended = Promise.resolve(child);
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
    await endLeftTurnd(directory);
  });
  const url = await Promise.race([
    described,
    ended.then(() => {
      throw new Error(`the service ended before it listened:\n${lines.join("\n")}`);
    }),
  ]);
  return {
    pid: child.pid ?? 0,
    url,
    output: () => lines.join("\n"),
    async end(signal) {
      child.kill(signal);
      return (await ended).exitCode;
    },
  };
}

/** Ends the turnd that a killed service has left. */
async function endLeftTurnd(directory: string): Promise<void> {
  const pid = turndOf(directory);
  if (pid === undefined) return;
  await waitFor("the end of the turnd that was left", () => {
    try {
      process.kill(pid, "SIGTERM");
      return false;
    } catch {
      return true; // It is gone.
    }
  });
}

/** The turnd that a data directory names; undefined once it was stopped properly. */
export function turndOf(directory: string): number | undefined {
  try {
    return JSON.parse(readFileSync(join(directory, "turnd.json"), "utf8")).pid;
  } catch {
    return undefined;
  }
}
