import { stat } from "node:fs/promises";
import { defined } from "../../../../kit/defined.ts";
import type { CliFeatures, FeatureQuestion } from "../../executors/contract/cli-features.ts";
import type { SandboxFault } from "../../executors/contract/sandbox-check.ts";
import { findProgram, type FoundProgram } from "../../process/find-program.ts";
import { runTool, type ToolResult } from "../../process/run-tool.ts";
import { TemporaryHomeError } from "../../process/user-files/temporary-home.ts";
import type { ExecutorRuntimeOptions } from "./runtime-options.ts";
import { shareAnswer, type SharedAnswer } from "./shared-answer.ts";
import type { LocatedCli } from "./located.ts";
import type { GuardState } from "./located.ts";

/** What a CLI is asked with. */
export type AskOptions = Pick<
  ExecutorRuntimeOptions,
  "executor" | "cliName" | "explicitBinary" | "env" | "runAs" | "withTemporaryHome" | "allowsWorkspaceCode"
>;

/** Whether the CLI's own sandbox can work here, and what it printed if not. */
export interface SandboxState extends SandboxFault {
  readonly works: boolean;
}

/** CLI A takes 0.9 s for `--version` on a quiet machine; these bounds are for a loaded one. */
const VERSION_TIMEOUT_MS = 60_000;
const SANDBOX_TIMEOUT_MS = 30_000;
/** How long a binary is known without looking again: readiness is no older. */
const LOCATED_KEPT_MS = 1_000;
/** What stands behind the numbers is bounded: it goes into every turn's files. */
const VERSION = /\d{1,9}\.\d{1,9}\.\d{1,9}\S{0,40}/;

/** A file that was asked for its version, as the system distinguishes it from any other. */
interface CliAnswer {
  readonly identity: string;
  readonly located: LocatedCli & { readonly ok: true };
}

/** Looks every time whether the binary is still there and the same; asks it for its version only when it is not. */
export function createLocate(options: AskOptions): SharedAnswer<LocatedCli> {
  let last: CliAnswer | undefined;
  const keep = (identity: string | undefined, located: LocatedCli): LocatedCli => {
    if (located.ok && identity !== undefined) last = { identity, located };
    return located;
  };
  return shareAnswer({
    async ask(signal): Promise<LocatedCli> {
      const found = await findCli(options);
      if (!found.ok) return found;
      const identity = await identify(found.path);
      if (identity !== undefined && last?.identity === identity) return last.located;
      const located = await askVersion(options, found, signal);
      if (!located.ok || options.executor.featureQuestion === undefined) return keep(identity, located);
      const features = await askFeatures(options, options.executor.featureQuestion, { found, signal });
      // Without an answer it is asked again: its turns run meanwhile with what every version takes.
      return features === undefined ? located : keep(identity, { ...located, ...features });
    },
    keptMs: () => LOCATED_KEPT_MS,
  });
}

/** Finds the binary of a CLI; starts no process. */
export async function findCli({ executor, cliName, explicitBinary, env }: AskOptions): Promise<FoundProgram> {
  const found = await findProgram({
    name: cliName,
    ...defined({ explicit: explicitBinary }),
    searchPath: env["PATH"] ?? "",
    native: executor.nativeBinaries(cliName),
  });
  // Nothing has named it: no program is called as turnd calls its executors.
  if (found.ok || explicitBinary !== undefined || cliName !== executor.id) return found;
  const { variablePrefix, builtAs } = executor;
  return {
    ok: false,
    reason: `${found.reason}: set ${variablePrefix}_NAME=${builtAs} where that is, or ${variablePrefix}_BIN`,
  };
}

/** @returns undefined for a file that has gone since it was found */
async function identify(path: string): Promise<string | undefined> {
  const found = await stat(path, { bigint: true }).catch(() => undefined);
  if (found === undefined) return undefined;
  const { dev, ino, size, mtimeNs, ctimeNs } = found;
  return [path, dev, ino, size, mtimeNs, ctimeNs].join(" ");
}

async function askVersion(
  options: AskOptions,
  { path, warning }: FoundProgram & { readonly ok: true },
  signal: AbortSignal,
): Promise<LocatedCli> {
  const { result, guard } = await runVersion(options, path, signal);
  const version = VERSION.exec(result.stdout)?.[0];
  if (result.code === 0 && version !== undefined) {
    return {
      ok: true,
      path,
      version,
      ...defined({ warning, guard }),
    };
  }
  const printed = `${result.stderr}\n${result.stdout}`.trim().split("\n")[0] || "it printed nothing";
  const ended = result.code === 0 ? "printed no version" : `ended with ${result.code ?? "no exit code"}`;
  const cause = warning === undefined ? "" : ` (${warning})`;
  return { ok: false, reason: `${path} --version ${ended}: ${printed}${cause}` };
}

/** With the guard; again without where it does not end well with it, so that the version is known. */
async function runVersion(
  options: AskOptions,
  path: string,
  signal: AbortSignal,
): Promise<{ result: ToolResult; guard?: GuardState }> {
  const ask = (env?: Readonly<Record<string, string>>): Promise<ToolResult> =>
    askCli(options, [path, "--version"], { timeoutMs: VERSION_TIMEOUT_MS, signal, ...(env && { env }) });
  const guard = options.allowsWorkspaceCode ? undefined : options.executor.codeGuard;
  if (guard === undefined) return { result: await ask() };
  const result = await ask(guard.env);
  if (result.code === 0) return { result, guard: guard.isProven(result.stderr) ? "proven" : "ignored" };
  const plain = await ask();
  return plain.code === 0 ? { result: plain, guard: "failed" } : { result: plain };
}

/** @returns undefined when it did not end by itself: that proves nothing */
async function askFeatures(
  options: AskOptions,
  question: FeatureQuestion,
  { found, signal }: { readonly found: FoundProgram & { readonly ok: true }; readonly signal: AbortSignal },
): Promise<{ features?: CliFeatures } | undefined> {
  const command = [found.path, ...question.args];
  const result = await askCli(options, command, { timeoutMs: VERSION_TIMEOUT_MS, signal });
  if (result.code === null) return undefined;
  const features = result.code === 0 ? question.read(result.stdout) : undefined;
  return defined({ features });
}

/** Tries the sandbox of the CLI. */
export async function trySandbox(
  options: AskOptions,
  locate: SharedAnswer<LocatedCli>,
  signal: AbortSignal,
): Promise<SandboxState> {
  const located = await locate(signal);
  if (!located.ok) return { works: false, message: located.reason };
  const command = [located.path, ...(options.executor.sandboxCheck?.args ?? [])];
  const result = await askCli(options, command, { timeoutMs: SANDBOX_TIMEOUT_MS, signal });
  if (result.code === 0) return { works: true, message: "" };
  const fault = options.executor.sandboxCheck?.readFault(result.stderr);
  return { works: false, ...fault, message: fault?.message || `exit code ${result.code ?? "none"}` };
}

interface AskBounds {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Besides what every question gets. */
  readonly env?: Readonly<Record<string, string>>;
}

async function askCli(
  { env, runAs, withTemporaryHome }: AskOptions,
  command: readonly string[],
  { env: added = {}, ...bounds }: AskBounds,
): Promise<ToolResult> {
  try {
    return await withTemporaryHome((home) =>
      runTool(command, { ...bounds, runAs, env: { PATH: env["PATH"] ?? "", HOME: home, TMPDIR: home, ...added } }),
    );
  } catch (error) {
    if (!(error instanceof TemporaryHomeError)) throw error;
    return { code: null, stdout: "", stderr: error.message };
  }
}
