import { diffArrays } from "diff";
import { z } from "zod";

/** One event of a recording, as it is compared. */
export interface ComparedEvent {
  readonly seq: number;
  readonly type: string;
  /** Without what is not compared. */
  readonly value: Readonly<Record<string, unknown>>;
  /** Equal for events that are the same. */
  readonly key: string;
}

/** A field that two events have differently; `a` or `b` is absent where the field is. */
export interface FieldDifference {
  readonly path: string;
  readonly a?: unknown;
  readonly b?: unknown;
}

/** What two recordings have in common, and what not, in the order of their events. */
export type Difference =
  | { readonly kind: "same"; readonly count: number }
  | {
      readonly kind: "changed";
      readonly type: string;
      readonly a_seq: number;
      readonly b_seq: number;
      readonly fields: readonly FieldDifference[];
    }
  | { readonly kind: "only_in_a" | "only_in_b"; readonly seq: number; readonly type: string; readonly event: object };

/** Names of fields that hold times and ids, and places that follow from how many lines came before. */
const IGNORED = new Set([
  "seq",
  "at",
  "turn_id",
  "session_id",
  "trace_id",
  "traceparent",
  "message_id",
  "tool_call_id",
  "native_session_id",
  "native.id",
  "native.line",
  "data.requested",
  "data.bound",
  "data.resume.requested",
  "data.failure.evidence[].line",
  "duration_ms",
  "digest",
]);
/**
 * Beyond so many differences an exact alignment is not worth its time, which grows with their square. Law: every wait
 * is bounded.
 */
const MAX_EDITS = 5_000;

/** What is read of an event that turnd itself has just rendered. */
const Rendered = z.looseObject({ seq: z.int(), type: z.string(), recording: z.string().optional() });

/** Reads a rendered event. @param isStrict - compare times and ids too */
export function toComparedEvent(line: string, { isStrict }: { readonly isStrict: boolean }): ComparedEvent {
  const { recording: _, ...event } = Rendered.parse(JSON.parse(line));
  const value = isStrict ? event : strip(event, "");
  return { seq: event.seq, type: event.type, value, key: JSON.stringify(value) };
}

function strip(value: object, path: string): Record<string, unknown> {
  const kept = Object.entries(value).filter(([name]) => !IGNORED.has(name) && !IGNORED.has(join(path, name)));
  return Object.fromEntries(kept.map(([name, inner]) => [name, stripValue(inner, join(path, name))]));
}

function stripValue(value: unknown, path: string): unknown {
  // A tool's input and output are the CLI's own: nothing in them is an id of ours.
  if (path === "data.input" || path === "data.output" || typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map((inner) => stripValue(inner, `${path}[]`)) : strip(value, path);
}

/** Aligns two lists of events, so that one that is missing does not make all after it differ. */
export function compareEvents(a: readonly ComparedEvent[], b: readonly ComparedEvent[]): readonly Difference[] {
  const differences: Difference[] = [];
  let count = 0;
  for (const { left, right, isSame } of align(a, b)) {
    if (isSame) {
      count += left.length;
      continue;
    }
    if (count > 0) differences.push({ kind: "same", count });
    count = 0;
    differences.push(...pairUp(left, right));
  }
  if (count > 0) differences.push({ kind: "same", count });
  return differences;
}

interface Run {
  readonly left: readonly ComparedEvent[];
  readonly right: readonly ComparedEvent[];
  readonly isSame: boolean;
}

function align(a: readonly ComparedEvent[], b: readonly ComparedEvent[]): Run[] {
  const keysOf = (events: readonly ComparedEvent[]): string[] => events.map(({ key }) => key);
  const changes = diffArrays(keysOf(a), keysOf(b), { maxEditLength: MAX_EDITS });
  if (changes === undefined) return [{ left: a, right: b, isSame: false }];
  const runs: Run[] = [];
  let [inA, inB] = [0, 0];
  let removed: readonly ComparedEvent[] = [];
  let added: readonly ComparedEvent[] = [];
  const flush = (): void => {
    if (removed.length + added.length > 0) runs.push({ left: removed, right: added, isSame: false });
    [removed, added] = [[], []];
  };
  for (const change of changes) {
    const left = change.added ? [] : a.slice(inA, (inA += change.value.length));
    const right = change.removed ? [] : b.slice(inB, (inB += change.value.length));
    if (change.removed) removed = [...removed, ...left];
    else if (change.added) added = [...added, ...right];
    else {
      flush();
      runs.push({ left, right, isSame: true });
    }
  }
  flush();
  return runs;
}

/** Events of one type are paired in order; the others are only on one side. */
function pairUp(left: readonly ComparedEvent[], right: readonly ComparedEvent[]): Difference[] {
  const differences: Difference[] = [];
  let next = 0;
  for (const event of left) {
    const partnerAt = right.findIndex(({ type }, index) => index >= next && type === event.type);
    const partner = right[partnerAt];
    if (partner === undefined) {
      differences.push(onOneSide("only_in_a", event));
      continue;
    }
    differences.push(...right.slice(next, partnerAt).map((other) => onOneSide("only_in_b", other)));
    next = partnerAt + 1;
    differences.push(
      event.key === partner.key
        ? { kind: "same", count: 1 }
        : {
            kind: "changed",
            type: event.type,
            a_seq: event.seq,
            b_seq: partner.seq,
            fields: [...compareFields(event.value, partner.value, "")],
          },
    );
  }
  return [...differences, ...right.slice(next).map((event) => onOneSide("only_in_b", event))];
}

function onOneSide(kind: "only_in_a" | "only_in_b", { seq, type, value }: ComparedEvent): Difference {
  return { kind, seq, type, event: value };
}

function* compareFields(a: unknown, b: unknown, path: string): Generator<FieldDifference> {
  if (isBranch(a) && isBranch(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
      yield* compareFields(a[name], b[name], Array.isArray(a) ? `${path}[${name}]` : join(path, name));
    }
  } else if (JSON.stringify(a) !== JSON.stringify(b)) {
    yield { path, ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) };
  }
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
