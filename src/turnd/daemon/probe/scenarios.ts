import type { Mode } from "../../protocol/index.ts";
import type { ProbePlan } from "../executors/contract/probe-plan.ts";

/** One turn that a CLI is probed with. Its marker names what the model does in it: `src/scripted-model/scenarios.ts`. */
export interface ProbeScenario {
  readonly name: string;
  readonly input: string;
  readonly mode?: Mode;
  /** A turn of the same session before it, so that this one resumes. */
  readonly before?: string;
}

/** What a probe plays, in this order, as far as the CLI's plan says. */
export const PROBE_SCENARIOS: readonly ProbeScenario[] = [
  { name: "text", input: "@@text@@" },
  { name: "tool-ok", input: "@@tool-ok@@" },
  { name: "tool-fail", input: "@@tool-fail@@" },
  { name: "write-and-run", input: "@@program@@" },
  { name: "edit", input: "@@edit@@" },
  { name: "todo", input: "@@todo@@" },
  { name: "reasoning", input: "@@reasoning@@" },
  { name: "resume", before: "@@program@@", input: "What did the program print when you ran it before?" },
  { name: "plan", mode: "plan", input: "@@edit@@" },
  { name: "bad-request", input: "@@status:400@@" },
  { name: "bad-key", input: "@@status:401@@" },
  { name: "forbidden", input: "@@status:403@@" },
  { name: "no-model", input: "@@status:404@@" },
  { name: "context-overflow", input: "@@context-overflow@@" },
  { name: "rate-limit", input: "@@rate-limit@@" },
  { name: "quota", input: "@@quota@@" },
  { name: "server-error", input: "@@status:500@@" },
  { name: "recovered", input: "@@status-then-ok:503:1@@" },
  { name: "stream-cut", input: "@@cut-then-ok@@" },
  { name: "error-in-stream", input: "@@stream-error@@" },
  { name: "no-finish", input: "@@no-finish@@" },
  { name: "output-limit", input: "@@length@@" },
  { name: "content-filter", input: "@@content-filter@@" },
  { name: "not-an-api", input: "@@html@@" },
  { name: "cancel", input: "@@sleep@@" },
];

/** The scenarios of a CLI, or those of them that are named. */
export function scenariosOf(plan: ProbePlan, named?: readonly string[]): ProbeScenario[] {
  return PROBE_SCENARIOS.filter(({ name }) => plan.plays(name) && (named?.includes(name) ?? true));
}
