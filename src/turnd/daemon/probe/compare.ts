import { readField } from "../executors/drift/shapes.ts";
import type { KnownShapes } from "../executors/contract/records.ts";
import type { Observation } from "./observation.ts";

/** One thing a version does otherwise in a scenario. */
export interface Change {
  readonly what: "outcome" | "event" | "tool" | "type" | "field";
  readonly subject: string;
  /** What the known version does; absent for what is new. */
  readonly was?: string;
  /** What this one does; absent for what is missing. */
  readonly is?: string;
  /** A client would get something else, or the translator misses what it reads. */
  readonly breaks: boolean;
}

/**
 * Lists what changed between the known version's run of a scenario and this one.
 *
 * It breaks us when the turn ends otherwise, when clients miss an event or a tool's outcome, and when a record or a field
 * that the translator reads is missing or of another type. What is only new breaks nothing: it is kept and ignored.
 */
export function compare(known: KnownShapes, was: Observation, is: Observation): Change[] {
  return [
    ...compareOutcomes(was, is),
    ...compareEvents(was, is),
    ...compareTools(was, is),
    ...compareKinds(known, was, is),
  ];
}

function compareOutcomes({ outcome: was }: Observation, { outcome: is }: Observation): Change[] {
  return Object.keys({ ...was, ...is }).flatMap((subject): Change[] => {
    const [before = "-", now = "-"] = [was[subject], is[subject]];
    if (before === now) return [];
    // An exit code is evidence; what is made of it is the status and the code. More than before is no loss.
    const isGain = (subject === "output" || subject === "usage") && now === "yes";
    return [{ what: "outcome", subject, was: before, is: now, breaks: subject !== "exit" && !isGain }];
  });
}

function compareEvents(was: Observation, is: Observation): Change[] {
  const [before, now] = [was.events.split(" "), is.events.split(" ")];
  const missing = before.filter((type) => !now.includes(type));
  const added = now.filter((type) => !before.includes(type));
  return [
    // A warning is for people; that there is none any more takes nothing from a client.
    ...missing.map((subject): Change => ({ what: "event", subject, was: "sent", breaks: subject !== "warning" })),
    ...added.map((subject): Change => ({ what: "event", subject, is: "sent", breaks: false })),
  ];
}

function compareTools(was: Observation, is: Observation): Change[] {
  const [before, now] = [splitTools(was.tools), splitTools(is.tools)];
  // Under another name, but of the same kind and with the same end, a call says the same to a client.
  const isMatched = (call: string): boolean => now.some((other) => meaningOf(other) === meaningOf(call));
  const missing = before.filter((call) => !now.includes(call));
  const added = now.filter((call) => !before.includes(call));
  return [
    ...missing.map((subject): Change => ({ what: "tool", subject, was: "called", breaks: !isMatched(subject) })),
    ...added.map((subject): Change => ({ what: "tool", subject, is: "called", breaks: false })),
  ];
}

function splitTools(tools: string): string[] {
  return tools === "" ? [] : tools.split(", ");
}

/** `shell execute completed` → `execute completed`. */
function meaningOf(call: string): string {
  return call.split(" ").slice(-2).join(" ");
}

function compareKinds(known: KnownShapes, { kinds: was }: Observation, { kinds: is }: Observation): Change[] {
  return Object.keys({ ...was, ...is }).flatMap((kind): Change[] => {
    const [before, now] = [was[kind], is[kind]];
    const isKnown = known.kinds[kind] !== undefined;
    if (now === undefined) return [{ what: "type", subject: kind, was: "printed", breaks: isKnown }];
    if (before === undefined) return isKnown ? [] : [{ what: "type", subject: kind, is: "printed", breaks: false }];
    return compareFields(kind, before, now, known.kinds[kind] ?? {});
  });
}

type Types = Readonly<Record<string, string>>;

function compareFields(kind: string, was: Types, is: Types, known: Types): Change[] {
  const changes: Change[] = [];
  for (const path of Object.keys({ ...was, ...is }).toSorted()) {
    const [before, now] = [was[path], is[path]];
    const field = readField(known[path] ?? "");
    const parent = parentOf(path);
    const subject = `${kind} ${path}`;
    const hasParent = (types: Types): boolean => parent === "" || types[parent] !== undefined;
    if (now === undefined && before !== undefined) {
      // Reported once, of the field that holds it; an empty list has no elements to miss.
      if (hasParent(is) && !path.endsWith("[]"))
        changes.push({ what: "field", subject, was: before, breaks: field.isRead });
    } else if (before === undefined && now !== undefined) {
      if (hasParent(was) && known[path] === undefined) changes.push({ what: "field", subject, is: now, breaks: false });
    } else if (before !== undefined && now !== undefined) {
      const familiar = new Set([...before.split("|"), ...field.types.split("|")]);
      const isOther = now.split("|").some((type) => !familiar.has(type));
      if (isOther) changes.push({ what: "field", subject, was: before, is: now, breaks: field.isRead });
    }
  }
  return changes;
}

function parentOf(path: string): string {
  if (path.endsWith("[]")) return path.slice(0, -2);
  const dot = path.lastIndexOf(".");
  return dot < 0 ? "" : path.slice(0, dot);
}
