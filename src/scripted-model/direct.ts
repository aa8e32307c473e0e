import { createHash } from "node:crypto";
import { currentTurn, type Conversation } from "./conversation.ts";
import { say, type Cue, type Reply, type Scenario } from "./reply.ts";
import { DEFAULT_SCENARIO } from "./scenarios.ts";
import { pollCommand } from "./tools.ts";

/** A reply and which scenario gave it. */
export interface ScenarioReply {
  readonly scenario: string;
  readonly reply: Reply;
}

/** Decides what the model does with each request that comes in. */
export type Director = (conversation: Conversation) => ScenarioReply;

const MAX_REMEMBERED = 1_000;

/** Creates a director over a table of scenarios. It keeps only how often it saw each request. */
export function createDirector(scenarios: Readonly<Record<string, Scenario>>): Director {
  const seen = new Map<string, number>();
  return (conversation) => {
    const { name, argument } = chooseScenario(conversation);
    const scenario = scenarios[name];
    if (scenario === undefined) return { scenario: name, reply: say(`There is no scenario "${name}".`) };
    const attempt = count(seen, fingerprint(conversation));
    return { scenario: name, reply: play(scenario, conversation, { argument, attempt }) };
  };
}

function play(scenario: Scenario, conversation: Conversation, cue: Cue): Reply {
  const last = currentTurn(conversation).outcomes.at(-1);
  const poll = last === undefined ? null : pollCommand(last);
  if (poll !== null) return { type: "answer", parts: [poll], ending: "stop" };
  const reply = scenario(conversation, cue);
  // A provider that fails, fails for the title too; but a title is never a tool call or a long text.
  const isFault = reply.type !== "answer" || typeof reply.ending === "object" || reply.ending !== "stop";
  return conversation.isTitleRequest && !isFault ? say("A scripted conversation") : reply;
}

/**
 * The newest marker in the user's texts decides, so a resumed session continues its scenario until another is named.
 */
function chooseScenario({ entries }: Conversation): { name: string; argument: string } {
  for (const entry of entries.toReversed()) {
    const marker = entry.type === "user" ? [...entry.text.matchAll(/@@([a-z-]+)(?::([^@]*))?@@/g)].at(-1) : undefined;
    if (marker?.[1] !== undefined) return { name: marker[1], argument: marker[2] ?? "" };
  }
  return { name: DEFAULT_SCENARIO, argument: "" };
}

/** What stays the same in a retry. CLI B adds texts of the failed attempt to the history, so those are left out. */
function fingerprint({ model, entries, identity, tools }: Conversation): string {
  const fixed = entries.filter((entry) => entry.type !== "assistant");
  return createHash("sha256")
    .update(JSON.stringify([model, fixed, identity, tools]))
    .digest("hex");
}

function count(seen: Map<string, number>, key: string): number {
  const times = (seen.get(key) ?? 0) + 1;
  // Deleted and set again, so that the oldest key is the least recently seen one.
  seen.delete(key);
  seen.set(key, times);
  const oldest = seen.keys().next();
  if (seen.size > MAX_REMEMBERED && oldest.value !== undefined) seen.delete(oldest.value);
  return times;
}
