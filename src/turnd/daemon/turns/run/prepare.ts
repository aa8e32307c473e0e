import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { warningEvent } from "../../../protocol/index.ts";
import type { CliFeatures } from "../../executors/contract/cli-features.ts";
import type { TranslatedEvent } from "../../executors/contract/translator.ts";
import type { GroupsState } from "../../process/cgroup/cgroup.ts";
import { startKept, type Started } from "../../process/keeper/keeper.ts";
import { allDone } from "../../storage/all-done.ts";
import { environmentOf, type CliEnvironmentParts } from "./cli-environment.ts";
import { executorOf } from "../executors/executors.ts";
import { changeHome, type HomeCommand, type HomeWriter } from "../../process/user-files/change-home.ts";
import { recordAfter, recordBefore, type ChangeParts } from "../store/record-changes.ts";
import type { SessionStore } from "../../sessions/session-store.ts";
import type { StartFacts } from "../lifecycle/inputs.ts";
import { startedNow } from "../lifecycle/ran-for.ts";
import type { Turn } from "../lifecycle/turn.ts";
import { makeGroup } from "./turn-group.ts";
import { serversOf } from "../admission/session-servers.ts";
import { permissionsOf } from "../admission/turn-permissions.ts";

export interface PrepareParts extends CliEnvironmentParts, HomeWriter, ChangeParts {
  readonly sessions: CliEnvironmentParts["sessions"] & Pick<SessionStore, "update">;
  /** `sandbox/keeper`. */
  readonly keeperPath: string;
  readonly groups: GroupsState;
  readonly now: () => Date;
}

export interface TidyParts extends Omit<CliEnvironmentParts, "sessions">, HomeWriter, ChangeParts {
  readonly logger: Logger;
}

/** A turn's process, ready to be started. */
export interface Prepared {
  /** To be logged once the turn has started: what had to be removed or set aside. */
  readonly warnings: readonly TranslatedEvent[];
  readonly start: () => Promise<Started>;
}

export interface PrepareOptions {
  readonly binary: string;
  readonly version: string;
  readonly features: CliFeatures | undefined;
  readonly requestedSession: string | null;
  /** When the process that it takes the place of was started; a turn of which none runs begins now, whatever an earlier daemon noted. */
  readonly startedAt: string | undefined;
  /** Aborts when the turn is to end. */
  readonly signal: AbortSignal;
}

/**
 * Makes everything a process needs: its home, its configuration, and what `turn.json` says of the start.
 *
 * @throws {HomeError} or the system's error when something cannot be written, the signal's reason once it has aborted;
 * nothing runs then
 */
export async function prepareTurn(parts: PrepareParts, turn: Turn, options: PrepareOptions): Promise<Prepared> {
  const { executor, cliName, configuration, findProviderFault } = executorOf(parts.executors, turn.file.executor);
  const session = parts.sessions.get(turn.file.session_id);
  if (session === undefined) throw new Error(`session ${turn.file.session_id} is gone`);
  const { file } = turn;
  const { home, plan, env } = environmentOf(parts, turn, options);
  const attachments = await readAttachments(turn);
  const setAside = options.requestedSession === null ? (file.degraded?.set_aside ?? []) : [];
  const isMoved = session.native_home !== undefined && session.native_home !== home;
  const ofPlace = isMoved ? (executor.stateOfPlace?.(cliName) ?? []) : [];
  // A turn whose daemon was killed may have left it, or a tool of another session.
  const unasked = [...ofPlace, ...(plan.leftovers ?? [])];
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
    ...plan.files.map(({ path, content }): HomeCommand => ({ do: "write", path, content })),
    ...attachments.map(({ name, content }): HomeCommand => ({
      do: "write",
      path: `turn/${file.turn_id}/${name}`,
      content,
    })),
  ];
  const attached = (name: string): string => join(home, "turn", file.turn_id, name);
  const args = executor.buildArgs({
    mode: file.mode,
    configuration,
    userHome: parts.homeDirectory,
    workspace: file.workspace,
    permissions: permissionsOf(session, file),
    images: file.images.map(attached),
    ...(file.output_schema === undefined ? {} : { outputSchema: attached(SCHEMA) }),
    ...(file.model === undefined ? {} : { model: file.model }),
    ...(file.agent === undefined ? {} : { agent: file.agent }),
    ...(file.effort === undefined ? {} : { effort: file.effort }),
    ...(options.requestedSession === null ? {} : { resume: options.requestedSession }),
    ...(options.features === undefined ? {} : { cliFeatures: options.features }),
  });
  const providerFault = findProviderFault();
  const start: StartFacts = {
    // Another attempt goes on with the first one's start, by both clocks.
    ...(options.startedAt === undefined ? startedNow(parts.now()) : { started_at: options.startedAt }),
    cli_name: cliName,
    cli_version: options.version,
    args,
    requested_session: options.requestedSession,
    ...(session.native_usage === undefined || options.requestedSession === null
      ? {}
      : { usage_before: session.native_usage }),
    ...(providerFault === undefined ? {} : { provider_fault: providerFault }),
  };
  options.signal.throwIfAborted();
  const removed = await allDone(
    changeHome(parts, home, commands, options.signal),
    turn.send({ type: "prepared", start }),
  );
  const changed = removed.filter((path) => !unasked.includes(path));
  if (isMoved) await parts.sessions.update(file.session_id, { native_home: home });
  const noDiff = await recordBefore(parts, turn, options.signal);
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
    start: () =>
      startKept({
        keeperPath: parts.keeperPath,
        directory: turn.directory,
        command: [options.binary, ...args],
        env,
        cwd: file.workspace,
        runAs: parts.runAs,
        signal: options.signal,
        ...(parts.starter === undefined ? {} : { starter: parts.starter }),
        ...makeGroup(parts, file.turn_id),
      }),
  };
}

/**
 * Removes what a turn leaves in the session's home: CLI A alone leaves 4.7 MB of temporary files a run.
 *
 * @param hasHome - false for a turn that ended while it waited in line: what else is there is another turn's
 *
 * Never throws: what cannot be removed is logged, and the next turn tries again.
 */
export async function tidyHome(
  parts: TidyParts,
  turn: Turn,
  { hasHome }: { readonly hasHome: boolean },
): Promise<void> {
  const { file } = turn;
  // Before the next turn of the session changes the workspace.
  if (file.replay === undefined && hasHome) await recordAfter(parts, turn);
  // Nothing was put there for a turn that was never prepared, and a replay leaves nothing.
  if (file.replay !== undefined || (!hasHome && file.started_at === undefined)) return;
  try {
    const tidy: readonly HomeCommand[] = hasHome
      ? // What a daemon that was killed had not come to remove goes with it.
        [
          { do: "empty", path: "tmp" },
          { do: "remove", path: "turn" },
          ...listLeft(parts, turn).map((path): HomeCommand => ({ do: "remove", path })),
        ]
      : [{ do: "remove", path: `turn/${file.turn_id}` }];
    await changeHome(parts, parts.sessions.paths(file.session_id).home, tidy);
  } catch (error) {
    parts.logger.warn({ turnId: file.turn_id, err: error }, "home could not be tidied");
  }
}

/** What the CLI leaves; configuration with what request and session brought in it, keys of MCP servers too: the next turn gets another. */
function listLeft(parts: TidyParts, turn: Turn): readonly string[] {
  const session = parts.sessions.get(turn.file.session_id);
  if (session === undefined) return [];
  const { leftovers = [], files } = environmentOf(parts, turn).plan;
  const servers = serversOf(session, turn.file, parts.sessionSecrets);
  return Object.keys(servers).length === 0 ? leftovers : [...leftovers, ...files.map(({ path }) => path)];
}

const SCHEMA = "output-schema.json";

async function readAttachments({ file, directory }: Turn): Promise<{ name: string; content: string | Buffer }[]> {
  const images = await Promise.all(
    file.images.map(async (name) => ({ name, content: await readFile(join(directory, name)) })),
  );
  const schema =
    file.output_schema === undefined ? [] : [{ name: SCHEMA, content: JSON.stringify(file.output_schema) }];
  return [...images, ...schema];
}
