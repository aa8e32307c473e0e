import { cliA } from "../../../../../src/turnd/daemon/executors/cli-a/adapter.ts";
import type {
  Ending,
  OutputLine,
  TranslatedEvent,
  Translation,
} from "../../../../../src/turnd/daemon/executors/contract/translator.ts";

export const SESSION = "ses_e02e5a526ffe2BVx71Fctcaay6";
export const OTHER_SESSION = "ses_e02e5a1f8ffeWJeDihpD4io4s9";

let parts = 0;

function part(type: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  parts += 1;
  return { id: `prt_${parts}`, messageID: "msg_1", type, ...fields };
}

/** A record of CLI A, as its line of stdout. */
export function record(type: string, fields: Record<string, unknown>, sessionID = SESSION): string {
  return JSON.stringify({ type, timestamp: 1_795_247_726_154, sessionID, ...fields });
}

export const stepStart = (fields: Record<string, unknown> = {}): string =>
  record("step_start", { part: part("step-start", fields) });

export const text = (value: string, fields: Record<string, unknown> = {}): string =>
  record("text", { part: part("text", { text: value, ...fields }) });

export const stepFinish = (reason: string, fields: Record<string, unknown> = {}): string =>
  record("step_finish", { part: part("step-finish", { reason, cost: 0, ...fields }) });

export const tool = (name: string, state: Record<string, unknown>, callID = `call_${parts}`): string =>
  record("tool_use", { part: part("tool", { tool: name, callID, state: { input: {}, ...state } }) });

export const error = (name: string, data: Record<string, unknown>): string =>
  record("error", { error: { name, data } });

/** A line of the CLI's log. */
export const log = (rest: string, level = "INFO"): string => `${level}  2026-11-21T08:00:00 +3ms ${rest}`;

export interface Played {
  readonly translations: Translation[];
  readonly events: TranslatedEvent[];
  readonly ending: Ending;
}

/** Puts lines through a translator; those marked `err` come from stderr. */
export function translate(
  lines: readonly (string | { readonly err: string } | { readonly cut: string })[],
  options: {
    readonly requested?: string | null;
    readonly exit?: { readonly code: number | null; readonly signal: string | null } | null;
    readonly wasStopped?: boolean;
  } = {},
): Played {
  const { requested = null, exit = { code: 0, signal: null }, wasStopped = false } = options;
  const translator = cliA.createTranslator({ requestedSession: requested });
  const numbers = { stdout: 0, stderr: 0 };
  const translations = lines.map((line) => {
    const source: OutputLine["source"] = typeof line === "object" && "err" in line ? "stderr" : "stdout";
    numbers[source] += 1;
    const isTruncated = typeof line === "object" && "cut" in line;
    const value = typeof line === "string" ? line : "err" in line ? line.err : line.cut;
    return translator.push({ source, number: numbers[source], text: value, isTruncated });
  });
  const ending = translator.end({ exit, wasStopped });
  return { translations, events: [...translations.flatMap(({ events }) => events), ...ending.events], ending };
}

/** The types of events, in order. */
export const types = (events: readonly TranslatedEvent[]): string[] => events.map(({ type }) => type);

/** The events of one type. */
export function find<T extends TranslatedEvent["type"]>(events: readonly TranslatedEvent[], type: T) {
  return events.filter((event): event is TranslatedEvent & { type: T } => event.type === type);
}
