import type { Conversation } from "../conversation.ts";
import { say, type Answer } from "../reply.ts";
import { callTool, type Action } from "../tools.ts";

/** An answer that is one tool call; where no offered tool can do it, the model answers that and ends its turn. */
export function act(conversation: Conversation, action: Action): Answer {
  const call = callTool(action, conversation);
  if (call !== null) return { type: "answer", parts: [call], ending: "stop" };
  const offered = conversation.tools.length === 0 ? "none" : conversation.tools.join(", ");
  return say(`I would have to ${action.type}, but no tool on offer can do that. Offered: ${offered}.`);
}
