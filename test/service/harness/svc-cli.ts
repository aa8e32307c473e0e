import { join } from "node:path";
import { execa } from "execa";
import { onTestFinished } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";

/** What a command of `svc` came to. */
export interface SvcResult {
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
  // Tests look into bodies of every shape; each asserts what it reads.
  readonly json: ReturnType<typeof JSON.parse>;
}

/** A person's `svc`, with a home of its own. */
export interface SvcCli {
  readonly home: string;
  run(args: readonly string[], options?: SvcRun): Promise<SvcResult>;
  /** Starts it and leaves it running. */
  start(args: readonly string[], options?: SvcRun): RunningSvc;
}

export interface SvcRun {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export interface RunningSvc {
  kill(signal: NodeJS.Signals): void;
  /** What it has written to stderr so far. */
  stderr(): string;
  readonly ended: Promise<SvcResult>;
}

export const SVC = [process.execPath, join(REPOSITORY, "src/service/svc/main.ts")] as const;

/** @param env - such as `SVC_URL` and `SVC_API_KEY` */
export function createSvcCli(env: Readonly<Record<string, string>> = {}): SvcCli {
  const home = temporaryDirectory(onTestFinished);
  const always = { PATH: "/usr/bin:/bin", HOME: home, ...env };

  function start(args: readonly string[], { input, env: more = {} }: SvcRun = {}): RunningSvc {
    const [node, program] = SVC;
    const child = execa(node, [program, ...args], {
      env: { ...always, ...more },
      extendEnv: false,
      reject: false,
      cleanup: true,
      stripFinalNewline: false,
      input: input ?? "",
    });
    let seen = "";
    child.stderr.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    const ended = Promise.resolve(child).then(({ exitCode, stdout, stderr }) => ({
      code: exitCode,
      stdout,
      stderr,
      get json(): unknown {
        return stdout.startsWith("{") ? JSON.parse(stdout) : undefined;
      },
    }));
    return { kill: (signal) => void child.kill(signal), stderr: () => seen, ended };
  }

  return { home, start, run: (args, options) => start(args, options).ended };
}

/** Waits until a running command has written something to stderr. */
export function waitForStderr(running: RunningSvc, pattern: RegExp): Promise<RegExpExecArray> {
  return waitFor(`stderr with ${pattern}`, () => pattern.exec(running.stderr()) ?? undefined);
}
