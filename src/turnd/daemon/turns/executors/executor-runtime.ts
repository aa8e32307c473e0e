import { defined } from "../../../../kit/defined.ts";
import { ExecutorInfo, type Mode, type Permissions } from "../../../protocol/index.ts";
import { createDriftBook, type DriftBook } from "../../executors/drift/drift.ts";
import type { Configuration } from "../../executors/contract/configuration.ts";
import type { Executor } from "../../executors/contract/executor.ts";
import type { FailureDraft } from "../../executors/contract/failures.ts";
import { ResourcesExhaustedError } from "../../process/exhausted.ts";
import { exhaustedFailure, ownFailure } from "../outcome/own-failure.ts";
import { toMessage } from "../outcome/failure.ts";
import { createLocate, findCli, trySandbox, type SandboxState } from "./ask-cli.ts";
import type { LocatedCli } from "./located.ts";
import { describeTransport } from "./transports.ts";
import { describeUnguarded } from "./unguarded.ts";
import { createProviderCheck, describeProvider, type ProviderState } from "./provider-check.ts";
import { shareAnswer, type SharedAnswer } from "./shared-answer.ts";
import { withoutSecrets } from "../store/without-secrets.ts";
import type { ExecutorRuntimeOptions } from "./runtime-options.ts";

/** An executor in this sandbox: its binary, its configuration, and whether it can run. */
export interface ExecutorRuntime {
  readonly executor: Executor;
  readonly cliName: string;
  readonly configuration: Configuration;
  /** Whether its turns run without the executor's `codeGuard`: `TURND_ALLOW_WORKSPACE_PLUGINS`. */
  readonly allowsWorkspaceCode: boolean;
  /** What the turns since the start printed that we do not know; a turn resumed after a restart is counted from its beginning. */
  readonly drift: DriftBook;
  /** Finds the binary, and asks its version when it is another file than last time. */
  readonly locate: SharedAnswer<LocatedCli>;
  /** Tries the CLI's own sandbox; only for an executor that has a `sandboxCheck`. */
  readonly trySandbox: SharedAnswer<SandboxState>;
  /** What keeps a turn from running, decided before a process is started; undefined when nothing does. */
  findObstacle(wanted: TurnNeeds, signal?: AbortSignal): Promise<FailureDraft | undefined>;
  /** Why the last request of turnd's own to the provider was not answered; undefined where it was, or none was sent. */
  findProviderFault(this: void): string | undefined;
  /** What keeps every turn from running as far as files and configuration show it; starts no process and asks no provider. */
  findStaticFault(): Promise<Configuration["fault"]>;
  /** @param provider - `known`: returned without waiting for the provider, by its last answer if there is one */
  describe(provider: "asked" | "known", signal?: AbortSignal): Promise<ExecutorInfo>;
  /** The same without asking the CLI anything, for as long as it has not answered: not available. */
  describeUnknown(): ExecutorInfo;
}

/** A turn, as far as it decides whether it can run. */
export interface TurnNeeds {
  readonly mode: Mode;
  /** Of its session. */
  readonly permissions: Permissions;
  /** As its request gave it; absent for the configured one. */
  readonly model?: string;
}

/** An empty request is refused in a round trip; a slower answer proves nothing. */
const PROVIDER_TIMEOUT_MS = 5_000;
const SANDBOX_KEPT_MS = { works: 600_000, fails: 5_000 } as const;
const MAX_EVIDENCE_CHARACTERS = 300;

/** @param switchOff - where the mode of an execution is what asks for the sandbox; a plan's and a review's cannot be another */
function describeSandboxRemedy(remedy: string | undefined, switchOff: string | undefined): string {
  const profile =
    remedy ??
    "start the container with --security-opt seccomp=sandbox/seccomp.json, in Kubernetes with sandbox/deploy/seccomp-kubernetes.json " +
      "as its localhostProfile; elsewhere allow user namespaces";
  return switchOff === undefined ? profile : `${profile}; or ${switchOff}`;
}

/** Makes the runtime side of an executor. Nothing is looked up before it is asked for. */
export function createExecutorRuntime(options: ExecutorRuntimeOptions): ExecutorRuntime {
  const { executor, configuration, cliName, env, now } = options;
  const drift = createDriftBook(executor.records);
  const locate = createLocate(options);
  const sandboxAnswer = shareAnswer({
    ask: (signal) => trySandbox(options, locate, signal),
    keptMs: ({ works }: SandboxState) => (works ? SANDBOX_KEPT_MS.works : SANDBOX_KEPT_MS.fails),
  });

  const question = options.isProviderChecked ? executor.providerRequest?.(configuration) : undefined;
  const check = question && createProviderCheck({ request: question, env, now, timeoutMs: PROVIDER_TIMEOUT_MS });

  async function decide(
    wanted: TurnNeeds,
    provider: "asked" | "known",
    signal: AbortSignal | undefined,
  ): Promise<FailureDraft | undefined> {
    try {
      return await findFirst(wanted, provider, signal);
    } catch (error) {
      if (error instanceof ResourcesExhaustedError) return exhaustedFailure(error);
      throw error;
    }
  }

  async function findFirst(
    { mode, permissions, model }: TurnNeeds,
    provider: "asked" | "known",
    signal: AbortSignal | undefined,
  ): Promise<FailureDraft | undefined> {
    const located = await locate(signal);
    if (!located.ok) return ownFailure("executor_unavailable", `${cliName} cannot be run: ${located.reason}.`);
    const unguarded = describeUnguarded(executor, cliName, located);
    if (unguarded !== undefined) return ownFailure("executor_unavailable", unguarded.message, unguarded.remedy);
    // The message of a fault names the variable to set.
    const fault = executor.findFault === undefined ? configuration.fault : executor.findFault(configuration, model);
    if (fault !== undefined) return ownFailure(fault.code, fault.message, "");
    const state = provider === "asked" ? await check?.ask(signal) : check?.known();
    if (state?.api === "absent") return toObstacle(state);
    if (executor.sandboxCheck?.isNeeded(configuration, mode, permissions) !== true) return undefined;
    const sandbox = await sandboxAnswer(signal);
    if (sandbox.works) return undefined;
    const isChosenMode = mode === "execute" && executor.sandboxCheck.isNeeded(configuration, "execute");
    return ownFailure(
      "sandbox_unavailable",
      `The sandbox of ${cliName} cannot work here (${sandbox.message}).`,
      describeSandboxRemedy(sandbox.remedy, isChosenMode ? executor.sandboxCheck.switchOff : undefined),
    );
  }

  async function describe(provider: "asked" | "known", signal?: AbortSignal): Promise<ExecutorInfo> {
    const located = await locate(signal).catch(toUnknown);
    const obstacle = await decide({ mode: "execute", permissions: {} }, provider, signal);
    const state = check?.known();
    const isSandboxed = executor.sandboxCheck?.isNeeded(configuration, "execute") === true;
    const info: ExecutorInfo = {
      id: executor.id,
      name: cliName,
      available: obstacle === undefined,
      ...defined({ unavailable: obstacle && { code: obstacle.code, message: toMessage(obstacle) } }),
      ...(located.ok ? { binary: located.path, version: located.version } : {}),
      contract_version: executor.contractVersion,
      capabilities: executor.capabilities,
      ...(isSandboxed && located.ok ? { sandbox: describeSandbox(await sandboxAnswer(signal).catch(toUnknown)) } : {}),
      ...defined({ provider: state && describeProvider(state) }),
      transport: describeHere(located.ok ? located.version : undefined),
      configuration: [...configuration.effective],
      warnings: [...configuration.warnings, ...(located.ok && located.warning !== undefined ? [located.warning] : [])],
      drift: drift.report(),
    };
    return withoutSecrets(options.redact, ExecutorInfo, info);
  }

  function describeHere(version: string | undefined): ExecutorInfo["transport"] {
    const { wanted, hasGroups } = options.transport;
    return describeTransport({ executor, configuration, version, hasGroups }, wanted);
  }

  function describeUnknown(): ExecutorInfo {
    const message = `${cliName} has not answered yet: whether it can run is not known.`;
    const info: ExecutorInfo = {
      id: executor.id,
      name: cliName,
      available: false,
      unavailable: { code: "executor_unavailable", message },
      contract_version: executor.contractVersion,
      capabilities: executor.capabilities,
      transport: describeHere(undefined),
      configuration: [...configuration.effective],
      warnings: [...configuration.warnings],
      drift: drift.report(),
    };
    return withoutSecrets(options.redact, ExecutorInfo, info);
  }

  async function findStaticFault(): Promise<Configuration["fault"]> {
    const found = await findCli(options);
    if (found.ok) return configuration.fault;
    return { code: "executor_unavailable", message: `${cliName} cannot be run: ${found.reason}.` };
  }

  return {
    executor,
    cliName,
    findStaticFault,
    configuration,
    allowsWorkspaceCode: options.allowsWorkspaceCode,
    drift,
    locate,
    trySandbox: sandboxAnswer,
    findObstacle: (wanted, signal) => decide(wanted, "asked", signal),
    findProviderFault: () => check?.known()?.fault,
    describe,
    describeUnknown,
  };
}

function toObstacle({ message, remedy, url, answer }: ProviderState): FailureDraft {
  const failure = ownFailure("executor_unavailable", message, remedy);
  const answered = `POST ${url} was answered ${answer?.status}: ${answer?.body.slice(0, MAX_EVIDENCE_CHARACTERS)}`;
  return { ...failure, evidence: [{ source: "turnd", text: answered }], rule: "turnd/provider_api_absent" };
}

/** For now: it is asked again. */
function toUnknown(error: unknown): { readonly ok: false; readonly works: false; reason: string; message: string } {
  if (!(error instanceof ResourcesExhaustedError)) throw error;
  return { ok: false, works: false, reason: error.message, message: error.message };
}

function describeSandbox({ works, message }: SandboxState): NonNullable<ExecutorInfo["sandbox"]> {
  return { works, ...(works ? {} : { message }) };
}
