import { lchown, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { z } from "zod";
import { defined } from "../../../kit/defined.ts";
import { LoggedEvent, TurnRequest, type TurnResult } from "../../protocol/index.ts";
import type { ProbePlan } from "../executors/contract/probe-plan.ts";
import type { TurnService } from "../turns/turn-service.ts";
import type { ProbeScenario } from "./scenarios.ts";

/** Where scenarios are played. */
export interface ProbeStage {
  readonly service: TurnService;
  readonly stateDirectory: string;
  /** Workspaces are made below it. */
  readonly workspaces: string;
  /** The CLIs' user. */
  readonly owner: { readonly uid: number; readonly gid: number };
  readonly signal: AbortSignal;
}

/** A CLI that is probed. */
export interface ProbeResult {
  readonly executor: string;
  readonly plan: ProbePlan;
}

/** A turn that has ended. */
export interface PlayedTurn {
  readonly result: TurnResult;
  readonly events: readonly LoggedEvent[];
}

/** The longest a turn of a probe may take; what hangs in a new version ends as `turn_timeout`, which is a finding. */
const TURN_TIMEOUT_MS = 120_000;

/** Plays a scenario in a workspace and a session of its own: turns like any other, by the daemon's own code. */
export async function playScenario(
  stage: ProbeStage,
  { executor, plan }: ProbeResult,
  scenario: ProbeScenario,
): Promise<PlayedTurn> {
  const workspace = join(stage.workspaces, `${executor}-${scenario.name}`);
  await mkdir(workspace);
  await writeFile(join(workspace, "notes.txt"), "first line\nsecond line\n");
  const { uid, gid } = stage.owner;
  // The directory last: once it is the user's, another process could have put a link in the file's place.
  for (const path of [join(workspace, "notes.txt"), workspace]) await lchown(path, uid, gid);
  const session = `probe-${executor}-${scenario.name}`;
  const base = { executor, session_id: session, workspace, timeout_ms: TURN_TIMEOUT_MS };
  if (scenario.before !== undefined) await runTurn(stage, { ...base, input: scenario.before });
  const mode = defined({ mode: scenario.mode });
  return runTurn(stage, { ...base, ...mode, input: scenario.input }, plan.cancelAt[scenario.name]);
}

async function runTurn(
  { service, signal }: ProbeStage,
  body: z.input<typeof TurnRequest>,
  cancelAt?: LoggedEvent["type"],
): Promise<PlayedTurn> {
  signal.throwIfAborted();
  const { turn_id: turnId } = (await service.admit(TurnRequest.parse(body), {})).admission;
  const events: LoggedEvent[] = [];
  for await (const lines of service.readEvents(turnId, { afterSeq: 0, isFollowing: true, signal })) {
    for (const line of lines) events.push(LoggedEvent.parse(JSON.parse(line.bytes.toString("utf8"))));
    if (lines.some(({ type }) => type === cancelAt)) await service.cancel(turnId);
  }
  signal.throwIfAborted();
  return { result: await service.getResult(turnId), events };
}
