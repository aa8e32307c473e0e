import { join } from "node:path";
import type { Writable } from "node:stream";
import { z } from "zod";
import type { Decision, TurnEndedData } from "../protocol/index.ts";
import { stringifyRedacted } from "../daemon/event-log/redact-value.ts";
import type { Redact } from "../daemon/event-log/redact.ts";
import type { DriftWatch } from "../daemon/executors/contract/records.ts";
import type { Executor } from "../daemon/executors/contract/executor.ts";
import { readJson } from "../daemon/replay/recording.ts";
import type { RecordingError } from "../daemon/replay/recording-error.ts";
import type { RecordingSource } from "../daemon/replay/source.ts";
import { createDriftCount } from "./drift-report.ts";
import { toPrintable } from "./printable.ts";
import { formatExplanation } from "./replay-explain.ts";
import { write } from "./write.ts";

/** A recording as it is shown. */
export type ReplayViewKind = "events" | "summary" | "decision";

/** Shows recordings, one after the other. */
export interface ReplayView {
  /** Called before a recording is replayed. */
  open(
    source: RecordingSource,
    executors: readonly Executor[],
  ): { readonly drift?: DriftWatch; readonly takesEvents: boolean };
  /** @param decision - there when decisions are shown */
  add(source: RecordingSource, ended: TurnEndedData, decision: Decision | undefined): Promise<void>;
  /** Of a recording that could not be replayed, or not as it should be. */
  addFault(error: RecordingError): void;
  /** Called after the last one. */
  end(): Promise<void>;
}

interface ViewOptions {
  readonly kind: ReplayViewKind;
  readonly isJson: boolean;
  /** Whether an explanation lists every rule. */
  readonly hasRules: boolean;
  readonly out: Writable;
  readonly redact: Redact;
}

/** `expected.json` of a labelled recording, as far as the summary compares it. */
const Label = z.object({ status: z.string(), code: z.string().nullable(), also: z.array(z.string()).default([]) });
type Label = z.infer<typeof Label>;

/** Makes the view that was asked for. */
export function createReplayView(options: ViewOptions): ReplayView {
  if (options.kind === "events") return EVENTS;
  const { write: print, end } = options.isJson ? createDocument(options) : createText(options);
  const faults: string[] = [];
  const isSummary = options.kind === "summary";
  const drift = createDriftCount();
  const score = { labelled: 0, status: 0, code: 0 };
  return {
    open: ({ name, recording, origin }, executors) => {
      const executor = executors.find(({ id }) => id === recording.turn.executor);
      if (!isSummary || executor === undefined) return { takesEvents: false };
      const like = origin?.printedLike === undefined ? undefined : `like ${origin.printedLike}`;
      return { takesEvents: false, drift: drift.watch(executor, recording.turn.cli_version ?? like, name) };
    },
    async add(source, ended, decision) {
      if (!isSummary) return print({ source, ended, ...(decision === undefined ? {} : { decision }) });
      const label = await readLabel(source);
      const verdict = label === undefined ? undefined : compareLabel(label, ended);
      if (verdict !== undefined) {
        score.labelled += 1;
        score.status += Number(verdict.isStatus);
        score.code += Number(verdict.isCode);
      }
      await print({ source, ended, ...(verdict === undefined ? {} : { verdict }) });
    },
    addFault: ({ message }) => void faults.push(message),
    end: () =>
      end({
        faults,
        ...(isSummary ? { score, driftText: drift.format(options.redact), drift: drift.report() } : {}),
      }),
  };
}

/** Events are printed as they are made. */
const EVENTS: ReplayView = {
  open: () => ({ takesEvents: true }),
  add: () => Promise.resolve(),
  addFault: () => undefined,
  end: () => Promise.resolve(),
};

interface ReplayedRecording {
  readonly source: RecordingSource;
  readonly ended: TurnEndedData;
  readonly decision?: Decision;
  readonly verdict?: LabelVerdict;
}

interface Totals {
  readonly faults: readonly string[];
  readonly score?: { readonly labelled: number; readonly status: number; readonly code: number };
  readonly driftText?: string;
  readonly drift?: object;
}

interface Form {
  write(shown: ReplayedRecording): Promise<void>;
  end(totals: Totals): Promise<void>;
}

function createText({ out, redact, hasRules }: ViewOptions): Form {
  return {
    write: ({ source, ended, decision, verdict }) =>
      write(
        out,
        decision === undefined
          ? summaryLine(source, ended, verdict)
          : redact(formatExplanation(source, ended, decision, { hasRules })),
      ),
    async end({ score, driftText = "" }) {
      const share = (count: number): string => `${count}/${score?.labelled} (${percent(count, score?.labelled ?? 0)})`;
      if (score !== undefined && score.labelled > 0) {
        await write(out, `labelled: status ${share(score.status)}, code ${share(score.code)}\n`);
      }
      await write(out, driftText);
    },
  };
}

/** One document: `recordings`, one per line, then `faults`, and what a summary ends with. */
function createDocument({ out, redact }: ViewOptions): Form {
  let separator = '{"recordings":[\n';
  return {
    async write({ source, ended, decision, verdict }) {
      const { name, origin, recording } = source;
      const value = {
        recording: name,
        executor: recording.turn.executor,
        ...(recording.turn.cli_version === undefined ? {} : { cli_version: recording.turn.cli_version }),
        ...(origin === undefined
          ? {}
          : {
              output_alone: {
                ...(origin.printedLike === undefined ? {} : { printed_like: origin.printedLike }),
                exit_recorded: recording.isExitUnrecorded !== true,
              },
            }),
        ended,
        ...(decision === undefined ? {} : { decision }),
        ...(verdict === undefined ? {} : { labelled: verdict.label, as_labelled: verdict.isStatus && verdict.isCode }),
      };
      await write(out, `${separator}${stringifyRedacted(value, redact)}`);
      separator = ",\n";
    },
    async end({ faults, score, drift }) {
      const start = separator === ",\n" ? "" : separator;
      const totals = { faults, ...(score === undefined ? {} : { score, drift }) };
      await write(out, `${start}\n],${stringifyRedacted(totals, redact).slice(1)}\n`);
    },
  };
}

function summaryLine(
  { name, recording, origin }: RecordingSource,
  ended: TurnEndedData,
  verdict?: LabelVerdict,
): string {
  const { events, records, unknown, tools, retries } = ended.counts;
  const counts = `events=${events} records=${records} unknown=${unknown} tools=${tools} retries=${retries}`;
  const like = origin?.printedLike === undefined ? "" : ` like ${origin.printedLike}`;
  const exit = recording.isExitUnrecorded === true ? ", exit unknown" : "";
  const found = origin === undefined ? "" : `  (${origin.executor}${like}${exit})`;
  return `${toPrintable(name)}  ${ended.status} ${ended.failure?.code ?? "-"}  ${counts}${found}${labelText(verdict)}\n`;
}

interface LabelVerdict {
  readonly label: Label;
  readonly isStatus: boolean;
  readonly isCode: boolean;
}

async function readLabel({ directory }: RecordingSource): Promise<Label | undefined> {
  return directory === undefined ? undefined : readJson(join(directory, "expected.json"), Label);
}

function compareLabel(label: Label, { status, failure }: TurnEndedData): LabelVerdict {
  const code = failure?.code ?? null;
  return {
    label,
    isStatus: label.status === status,
    isCode: label.code === code || (code !== null && label.also.includes(code)),
  };
}

function labelText(verdict: LabelVerdict | undefined): string {
  if (verdict === undefined) return "";
  const { label, isStatus, isCode } = verdict;
  return isStatus && isCode ? "  as labelled" : `  labelled ${label.status} ${label.code ?? "-"}`;
}

function percent(count: number, of: number): string {
  return `${((100 * count) / of).toFixed(1)} %`;
}
