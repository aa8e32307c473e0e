import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { defined } from "../../../../kit/defined.ts";
import { warningEvent, type Transport } from "../../../protocol/index.ts";
import type { CliFeatures } from "../../executors/contract/cli-features.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import type { HomePlan } from "../../executors/contract/invocation.ts";
import type { KeptCommand } from "../../process/keeper/keeper.ts";
import type { RunAs } from "../../process/run-as.ts";
import type { Helper } from "../../process/starter/starter.ts";
import { allDone } from "../../storage/all-done.ts";
import { SCHEMA, type DescribeProcess } from "./describe-process.ts";
import { executorOf, type Executors } from "../executors/executors.ts";
import { changeHome, type HomeCommand } from "../../process/user-files/change-home.ts";
import type { ChangeRecorder } from "../store/record-changes.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { StartFacts } from "../lifecycle/inputs.ts";
import { startedNow } from "../lifecycle/ran-for.ts";
import type { Turn } from "../lifecycle/turn.ts";

export interface PrepareParts {
  readonly describe: DescribeProcess;
  readonly executors: Executors;
  readonly sessions: Pick<SessionStore, "get" | "update">;
  readonly recorder: Pick<ChangeRecorder, "before">;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  readonly runAs: RunAs;
  readonly now: () => Date;
  readonly logger: Logger;
}

/** A turn's process, ready to be started. */
export interface PreparedProcess {
  /** To be logged once the turn has started: what had to be removed or set aside. */
  readonly warnings: readonly TranslatedEvent[];
  /** What is started, but for where its files are. */
  readonly kept: Omit<KeptCommand, "directory">;
}

export interface PrepareOptions {
  readonly binary: string;
  readonly version: string;
  readonly features: CliFeatures | undefined;
  readonly requestedSession: string | null;
  readonly transport: Transport;
  /** Whether a server has the home open: what it keeps there stays. */
  readonly isWarm?: boolean;
  /** When the process that it takes the place of was started; a turn of which none runs begins now, whatever an earlier daemon noted. */
  readonly startedAt: string | undefined;
  /** What the home is written by and the keeper started from; absent: each is a process of turnd's. */
  readonly helper: Helper | undefined;
  /** Aborts when the turn is to end. */
  readonly signal: AbortSignal;
}

/**
 * Makes everything a process needs: its home, its configuration, and what `turn.json` says of the start.
 *
 * @throws {HomeError} or the system's error when something cannot be written, the signal's reason once it has aborted;
 * nothing runs then
 */
export async function prepareTurn(parts: PrepareParts, turn: Turn, options: PrepareOptions): Promise<PreparedProcess> {
  const { executor, cliName, findProviderFault } = executorOf(parts.executors, turn.file.executor);
  const session = parts.sessions.get(turn.file.session_id);
  if (session === undefined) throw new Error(`session ${turn.file.session_id} is gone`);
  const { file } = turn;
  const helper = defined({ starter: options.helper });
  const { isWarm = false } = options;
  const { home, plan, env, args } = parts.describe(turn, options);
  const attachments = await readAttachments(turn);
  const setAside = options.requestedSession === null ? (file.degraded?.set_aside ?? []) : [];
  const isMoved = session.native_home !== undefined && session.native_home !== home;
  const ofPlace = isMoved ? (executor.stateOfPlace?.(cliName) ?? []) : [];
  // A turn whose daemon was killed may have left it, or a tool of another session.
  const unasked = [...ofPlace, ...(plan.leftovers ?? [])];
  const writes: HomeCommand[] = [
    ...plan.files.map(({ path, content }): HomeCommand => ({ do: "write", path, content })),
    ...attachments.map(({ name, content }): HomeCommand => ({
      do: "write",
      path: `turn/${file.turn_id}/${name}`,
      content,
    })),
  ];
  const commands: HomeCommand[] = [
    ...unasked.map((path): HomeCommand => ({ do: "remove", path })),
    ...setAside.map((path): HomeCommand => ({ do: "set_aside", path })),
    ...(plan.plain ?? []).map((path): HomeCommand => ({ do: "only_plain", path })),
    ...(plan.kept ?? []).map((directory): HomeCommand => ({ do: "keep_only", ...directory })),
    ...(plan.history === undefined || options.requestedSession === null
      ? []
      : [{ do: "tidy_lines" as const, ...plan.history }]),
    // A turn whose daemon was killed may not have emptied it; CLI A unpacks native code there.
    ...["tmp", ...(plan.emptied ?? [])].map((path): HomeCommand => ({ do: "empty", path })),
    ...plan.directories.map((path): HomeCommand => ({ do: "make", path })),
    ...plan.forbidden.map((path): HomeCommand => ({ do: "remove", path })),
    ...writes,
  ];
  const providerFault = findProviderFault();
  const start: StartFacts = {
    // Another attempt goes on with the first one's start, by both clocks.
    ...(options.startedAt === undefined ? startedNow(parts.now()) : { started_at: options.startedAt }),
    cli_name: cliName,
    cli_version: options.version,
    args: [...args],
    requested_session: options.requestedSession,
    ...(options.transport === "interactive" ? { transport: options.transport } : {}),
    ...(session.native_usage === undefined || options.requestedSession === null
      ? {}
      : { usage_before: session.native_usage }),
    ...defined({ provider_fault: providerFault }),
  };
  options.signal.throwIfAborted();
  const removed = await allDone(
    changeHome(
      { runAs: parts.runAs, ...helper },
      home,
      isWarm ? [...keepLive(plan), ...writes] : commands,
      options.signal,
    ),
    turn.send({ type: "prepared", start }),
  );
  const changed = removed.filter((path) => !unasked.includes(path));
  if (isMoved) await parts.sessions.update(file.session_id, { native_home: home });
  const noDiff = await parts.recorder.before(turn, parts.logger, options.signal);
  options.signal.throwIfAborted();

  return {
    warnings: [
      ...changed.map((path) =>
        setAside.includes(path)
          ? warningEvent("state_set_aside", `${path} in the session's home cannot be read and was moved aside.`)
          : warningEvent("configuration_removed", `${path} in the session's home is not turnd's and was removed.`),
      ),
      // Law: never pretend.
      ...(noDiff === undefined ? [] : [warningEvent("no_diff", `The turn will have no diff: ${noDiff}.`)]),
    ],
    kept: {
      keeperPath: parts.keeperPath,
      command: [options.binary, ...args],
      env,
      cwd: file.workspace,
      runAs: parts.runAs,
      signal: options.signal,
      ...helper,
    },
  };
}

/** What others have put there goes; what the running server has made there stays. */
function keepLive({ kept = [] }: HomePlan): HomeCommand[] {
  return kept.map(({ path, names, made }) => ({ do: "keep_live", path, names: [...names, ...made], made: [] }));
}

async function readAttachments({ file, directory }: Turn): Promise<{ name: string; content: string | Buffer }[]> {
  const images = await Promise.all(
    file.images.map(async (name) => ({ name, content: await readFile(join(directory, name)) })),
  );
  const schema =
    file.output_schema === undefined ? [] : [{ name: SCHEMA, content: JSON.stringify(file.output_schema) }];
  return [...images, ...schema];
}
