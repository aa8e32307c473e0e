import { defined } from "../../../../kit/defined.ts";
import { ProblemError, type ReplayRequest, type TimelineEntry } from "../../../protocol/index.ts";
import { bytesOf } from "../../replay/pieces.ts";
import { hasRun } from "../../replay/recording.ts";
import { schedule, spanMs, type ReadTime } from "../../replay/schedule.ts";
import { TIMELINE_FILE } from "../../replay/timeline.ts";
import type { TurnTrace } from "../lifecycle/tracer.ts";
import { beginTurnFile, excerptOf, type NewTurn, type TurnDraft } from "./new-turn.ts";
import { OUTPUT, RECORDED } from "../store/output-files.ts";

export interface ReplayDetails {
  readonly request: ReplayRequest;
  /** Shown, and not used: nothing is started. */
  readonly workspace: string;
  readonly maxOutputBytes: number;
  /** Of the executor that the recording is of. */
  readonly readTime: ReadTime | undefined;
}

/** Longest time a recording may take to play: the longest timeout a turn can ask for. */
const MAX_PLAY_MS = 86_400_000;
/** Nothing waits for it. */
const EPOCH = new Date(0).toISOString();

/**
 * Checks a recording and makes the turn that plays it: its directory gets the recording's files. Law: the recording is
 * the transport.
 *
 * At `max` these are complete; otherwise they begin empty, and a player fills them from copies. The clocks that watch a CLI are
 * off: a pause of the recording is no fault of this daemon's, and its length has been checked.
 * @throws {ProblemError} invalid_request, naming the field
 */
export function draftReplay({
  request,
  workspace,
  maxOutputBytes,
  readTime,
}: ReplayDetails): (made: NewTurn) => TurnDraft {
  const { recording, speed } = request;
  const { turn } = recording;
  const { requested_session: requested } = turn;
  const stdout = Buffer.concat(recording.stdout.map(bytesOf));
  const stderr = Buffer.concat(recording.stderr.map(bytesOf));
  if (stdout.length > maxOutputBytes) {
    throw refuse("recording.stdout", `is larger than TURND_MAX_OUTPUT_BYTES allows, ${maxOutputBytes} bytes`);
  }
  checkLines(recording.timeline ?? [], { stdout: countLines(stdout), stderr: countLines(stderr) });
  const timeline = (speed === "max" ? recording.timeline : schedule(recording.timeline, stdout, readTime)) ?? [];
  checkLength(timeline, speed);
  // Without a timeline: the output belongs to a fresh session, and the word about the lost one came before it.
  const isDegradedFirst =
    recording.timeline === undefined && turn.degraded !== undefined && (requested ?? null) === null;
  const first: TimelineEntry[] = isDegradedFirst ? [{ type: "degraded", at: timeline[0]?.at ?? EPOCH }] : [];

  const output = speed === "max" ? OUTPUT : RECORDED;
  return (made) => ({
    file: {
      ...beginTurnFile(made, request),
      // Asked for without a trace of its own, it shows the recording's; no span is sent in that one.
      ...(made.trace === undefined ? recordedTrace(turn) : {}),
      executor: turn.executor,
      mode: turn.mode ?? "execute",
      ...defined({ model: turn.model, cli_name: turn.cli_name, cli_version: turn.cli_version }),
      ...(turn.args === undefined ? {} : { args: [...turn.args] }),
      requested_session: requested ?? null,
      ...defined({
        output_alone: turn.output_alone,
        usage_before: turn.usage_before,
        provider_fault: turn.provider_fault,
      }),
      ...defined({ degraded: turn.degraded && { ...turn.degraded, set_aside: [] } }),
      ...defined({ halted: turn.halted, taken: turn.taken }),
      queue_policy: "enqueue",
      resume_policy: "continue",
      timeout_ms: 0,
      idle_timeout_ms: 0,
      ...(recording.input === undefined ? {} : { input_excerpt: excerptOf(recording.input) }),
      images: [],
      workspace,
      replay: {
        speed,
        ended_by: turn.ended_by ?? null,
        exit: recording.exit,
        has_run: hasRun(turn),
        is_played: false,
      },
    },
    files: [
      { name: "prompt.txt", content: recording.input ?? "" },
      { name: TIMELINE_FILE, content: renderLines([...first, ...timeline]) },
      ...(speed === "max" ? [] : Object.values(OUTPUT).map((name) => ({ name, content: "" }))),
      { name: output.stdout, content: stdout },
      { name: output.stderr, content: stderr },
    ],
  });
}

function recordedTrace({ trace_id, traceparent }: ReplayRequest["recording"]["turn"]): Partial<TurnTrace> {
  return defined({ trace_id, traceparent });
}

function checkLines(timeline: readonly TimelineEntry[], lines: Readonly<Record<"stdout" | "stderr", number>>): void {
  for (const [index, entry] of timeline.entries()) {
    if (entry.type !== "line") continue;
    const source = entry.source ?? "stdout";
    if (entry.line <= lines[source]) continue;
    throw refuse(`recording.timeline.${index}.line`, `${source} has ${lines[source]} lines, not ${entry.line}`);
  }
}

function checkLength(timeline: readonly TimelineEntry[], speed: ReplayRequest["speed"]): void {
  const ms = speed === "max" ? 0 : spanMs(timeline) / speed;
  if (ms <= MAX_PLAY_MS) return;
  const seconds = (value: number): number => Math.ceil(value / 1_000);
  throw refuse(
    "speed",
    `the recording would take ${seconds(ms)} s to play, and ${seconds(MAX_PLAY_MS)} s are allowed; play it faster`,
  );
}

function refuse(path: string, message: string): ProblemError {
  return new ProblemError("invalid_request", `${path}: ${message}`, { fields: [{ path, message }] });
}

function countLines(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(0x0a); at !== -1; at = bytes.indexOf(0x0a, at + 1)) count += 1;
  return bytes.length > 0 && bytes.at(-1) !== 0x0a ? count + 1 : count;
}

function renderLines(entries: readonly TimelineEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}
