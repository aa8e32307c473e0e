import { currentTurn, parseToolInput, plainOutput, type Conversation } from "../conversation.ts";
import { say, type Cue, type Reply } from "../reply.ts";
import type { Action, PlanEntry } from "../tools.ts";
import { act } from "./act.ts";

/** Runs one command and answers with its output; the argument, if any, is what it prints. */
export function toolOk(conversation: Conversation, { argument }: Cue): Reply {
  const word = /^[\w.-]+$/.test(argument) ? argument : "tool-ok";
  return runOnce(conversation, { type: "run", command: `echo ${word}`, purpose: "Prints a word" });
}

/** Runs a command that prints to both outputs and ends with 3. */
export function toolFail(conversation: Conversation): Reply {
  const command = "echo partial; echo broken >&2; exit 3";
  return runOnce(conversation, { type: "run", command, purpose: "Fails on purpose" });
}

/** Runs `sleep <seconds>`, 300 by default: a turn to be cancelled. */
export function sleep(conversation: Conversation, { argument }: Cue): Reply {
  const seconds = numberOr(argument, 300);
  return runOnce(conversation, { type: "run", command: `sleep ${seconds}`, purpose: "Waits", seconds });
}

/** Changes the first line of an existing file, `notes.txt` unless the argument names another. */
export function edit(conversation: Conversation, { argument }: Cue): Reply {
  const path = /^[\w./-]+$/.test(argument) ? argument : "notes.txt";
  // 1.3.2 of CLI A refuses an edit without a read before it.
  const [read, changed] = currentTurn(conversation).outcomes;
  if (read === undefined) return act(conversation, { type: "read", path });
  const before = firstLine(read.output);
  if (before === "") return say(`${path} has no line to change: ${plainOutput(read.output)}`);
  const after = `${before} (edited)`;
  if (changed === undefined) return act(conversation, { type: "edit", path, before, after });
  return say(`The first line of ${path} is now: ${after}`);
}

/** `<server> <tool> <arguments as JSON>`: calls a tool of an MCP server and answers with its result. */
export function mcp(conversation: Conversation, { argument }: Cue): Reply {
  const [outcome] = currentTurn(conversation).outcomes;
  if (outcome !== undefined) return say(`The tool gave: ${plainOutput(outcome.output)}`);
  const [, server = "", tool = "", input = ""] = /^(\S+) (\S+) ?(.*)$/s.exec(argument) ?? [];
  return act(conversation, { type: "mcp", server, tool, input: parseToolInput(input) });
}

const STEPS = ["Read the task", "Write the code", "Run it"] as const;

/** Sets a plan of three steps and ticks them off, one request each. */
export function todo(conversation: Conversation): Reply {
  const done = currentTurn(conversation).outcomes.length;
  if (done > STEPS.length) return say("All three steps are done.");
  const entries = STEPS.map((text, index): PlanEntry => ({ text, status: planStatus(index, done) }));
  return act(conversation, { type: "plan", entries });
}

/** Sets a goal that the CLI pursues by itself from then on, where it has such a thing. */
export function goal(conversation: Conversation): Reply {
  const [set] = currentTurn(conversation).outcomes;
  if (set !== undefined) return say(`The goal is set: ${set.output}`);
  return act(conversation, { type: "goal", objective: "Sort every file in the workspace" });
}

/** `<n>:<seconds>`: makes n tool calls, five by default, one per step; each takes so many seconds, none by default. */
export function many(conversation: Conversation, { argument }: Cue): Reply {
  const [times = "", pause = ""] = argument.split(":");
  const [count, seconds] = [numberOr(times, 5), numberOr(pause, 0)];
  const step = currentTurn(conversation).outcomes.length + 1;
  if (step > count) return say(`Made ${count} calls.`);
  const command = `${seconds > 0 ? `sleep ${seconds}; ` : ""}echo step ${step} of ${count}`;
  return act(conversation, { type: "run", command, purpose: `Step ${step}` });
}

/** The number of a marker, or a default when it has none. */
export function numberOr(argument: string, fallback: number): number {
  return /^\d+(\.\d+)?$/.test(argument) ? Number(argument) : fallback;
}

function runOnce(conversation: Conversation, action: Action): Reply {
  const outcome = currentTurn(conversation).outcomes.at(-1);
  return outcome === undefined ? act(conversation, action) : say(`The command gave: ${plainOutput(outcome.output)}`);
}

function planStatus(index: number, done: number): PlanEntry["status"] {
  if (index < done) return "completed";
  return index === done ? "in_progress" : "pending";
}

/** CLI A's read tool numbers the lines (`1: text`; 1.3.2 begins them right after `<content>`); a shell does not. */
function firstLine(output: string): string {
  const numbered = /^(?:<content>)?1: (.*)$/m.exec(output)?.[1];
  return numbered ?? plainOutput(output).split("\n")[0] ?? "";
}
