import type { CliName, Mode } from "../../protocol/index.ts";

/** One turn that a CLI is put through. What the model does in it stands in its marker: `src/scripted-model/scenarios.ts`. */
export interface ProbeScenario {
  readonly name: string;
  readonly input: string;
  /** CLIs for which it means something; absent for all. */
  readonly executors?: readonly CliName[];
  readonly mode?: Mode;
  /** A turn of the same session before it, so that this one resumes. */
  readonly before?: string;
  /** The event at which the turn is cancelled; absent where it ends by itself. */
  readonly cancelAt?: Partial<Record<CliName, "step.started" | "tool.started" | "retry">>;
}

/** CLI A asks again for ever, so its first `retry` shows all there is to see. */
const FOREVER = { cancelAt: { "cli-a": "retry" } } as const;

/** What every probe plays, in this order. A recording of each stands in `baseline/`. */
export const PROBE_SCENARIOS: readonly ProbeScenario[] = [
  { name: "text", input: "@@text@@" },
  { name: "tool-ok", input: "@@tool-ok@@" },
  { name: "tool-fail", input: "@@tool-fail@@" },
  { name: "write-and-run", input: "@@program@@" },
  { name: "edit", input: "@@edit@@" },
  { name: "todo", input: "@@todo@@" },
  { name: "reasoning", input: "@@reasoning@@" },
  { name: "resume", before: "@@program@@", input: "What did the program print when you ran it before?" },
  // CLI B plans in a sandbox of its own, which not every machine allows.
  { name: "plan", mode: "plan", input: "@@edit@@", executors: ["cli-a"] },
  { name: "bad-request", input: "@@status:400@@" },
  { name: "bad-key", input: "@@status:401@@" },
  { name: "forbidden", input: "@@status:403@@" },
  { name: "no-model", input: "@@status:404@@" },
  { name: "context-overflow", input: "@@context-overflow@@" },
  { name: "rate-limit", input: "@@rate-limit@@", ...FOREVER },
  { name: "quota", input: "@@quota@@", ...FOREVER },
  { name: "server-error", input: "@@status:500@@", ...FOREVER },
  { name: "recovered", input: "@@status-then-ok:503:1@@" },
  { name: "stream-cut", input: "@@cut-then-ok@@" },
  { name: "error-in-stream", input: "@@stream-error@@" },
  { name: "no-finish", input: "@@no-finish@@", executors: ["cli-a"] },
  { name: "output-limit", input: "@@length@@" },
  { name: "content-filter", input: "@@content-filter@@" },
  { name: "not-an-api", input: "@@html@@" },
  { name: "cancel", input: "@@sleep@@", cancelAt: { "cli-a": "step.started", "cli-b": "tool.started" } },
];

/** The scenarios of one CLI. */
export function scenariosOf(executor: CliName): ProbeScenario[] {
  return PROBE_SCENARIOS.filter(({ executors }) => executors === undefined || executors.includes(executor));
}
