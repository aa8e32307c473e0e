import { currentTurn, plainOutput, type Conversation } from "../conversation.ts";
import { say, type Answer, type Reply } from "../reply.ts";
import { act } from "./act.ts";
import { PROGRAM_STEPS, program, recallProgram } from "./program.ts";

/** The first line of the first answer of a conversation. */
export const INTRODUCTION = "I am turnd's scripted model: a script that answers by a few rules, no language model.";

const ABILITIES =
  "I can greet, list files, write a small program and run it, plan that first, remember it later, and search the knowledge base of an agent.";

const GREETING = /\b(hello|hi|hey|good (morning|day|evening)|thanks?|thank you|how are you|(who|what) are you|bye)\b/i;
const LIST = /\b(list|show|what|which)\b.*\bfiles\b/i;
const TASK =
  /\b(write|create|make|build|add|implement|program|script|code|fix|change|refactor|run|carry it out|go ahead|do it)\b/i;
/** A search tool of an MCP server, as each CLI names it; `web_search` is CLI B's own. */
const SEARCH = /^(mcp__\w+\.search|(?!web_)\w+_search)$/;
const MOST_SMALL_TALK = 80;
const MOST_QUOTED = 2_000;

/**
 * What a person gets who names no scenario: small talk, a list of files, a plan where only reading is allowed, a search where
 * a tool for it is offered, a small program, and the truth about everything else.
 */
export function assistant(conversation: Conversation): Reply {
  return introduce(conversation, answer(conversation));
}

function answer(conversation: Conversation): Reply {
  const { userText, outcomes } = currentTurn(conversation);
  const text = userText.trim();
  const isTask = TASK.test(text);
  const remembered = outcomes.length === 0 ? recallProgram(conversation) : undefined;
  if (remembered !== undefined) return say(remembered);
  if (!isTask && text.length < MOST_SMALL_TALK && GREETING.test(text)) return say(`Hello! ${ABILITIES}`);
  const search = conversation.tools.find((name) => SEARCH.test(name));
  const [found] = outcomes;
  if (search !== undefined && !isTask) {
    if (found !== undefined) return say(`I searched for "${text}" and was given:\n\n${quote(found.output)}`);
    return { type: "answer", parts: [{ type: "tool_call", name: search, input: { query: text } }], ending: "stop" };
  }
  if (!isTask && LIST.test(text)) {
    if (found !== undefined) return say(`These files are here:\n\n${quote(found.output)}`);
    return act(conversation, { type: "run", command: "ls -A", purpose: "Lists the files" });
  }
  if (!isTask) return say(`I cannot answer that. ${ABILITIES}`);
  if (conversation.mayOnlyRead) return say(`This is a plan; nothing has been changed yet.\n\n${PROGRAM_STEPS}`);
  return program(conversation);
}

function introduce(conversation: Conversation, reply: Reply): Reply {
  const isKnown = conversation.entries.some((entry) => "text" in entry && entry.text.includes(INTRODUCTION));
  if (isKnown || reply.type !== "answer") return reply;
  const [first, ...rest] = reply.parts;
  if (first?.type !== "text") return reply;
  const introduced: Answer = {
    ...reply,
    parts: [{ type: "text", text: `${INTRODUCTION}\n\n${first.text}` }, ...rest],
  };
  return introduced;
}

function quote(output: string): string {
  const text = plainOutput(output);
  if (text === "") return "(nothing)";
  return text.length > MOST_QUOTED ? `${text.slice(0, MOST_QUOTED)} …` : text;
}
