import { currentTurn, type Conversation } from "../conversation.ts";
import { say, type Cue, type Reply } from "../reply.ts";
import { numberOr } from "./tools.ts";

/** Answers with one short text, or with the argument. */
export function text(_conversation: Conversation, { argument }: Cue): Reply {
  return say(argument === "" ? "Hello from the scripted model." : argument);
}

/** Repeats the last user text, byte for byte. */
export function echo(conversation: Conversation): Reply {
  return say(currentTurn(conversation).userText);
}

/** Answers with a text of exactly so many bytes, 2 MB by default: numbered lines, so that a gap shows. */
export function big(_conversation: Conversation, { argument }: Cue): Reply {
  const bytes = numberOr(argument, 2_000_000);
  const lines = Array.from(
    { length: Math.ceil(bytes / 16) },
    (_, index) => `line ${String(index).padStart(10, "0")}\n`,
  );
  // CLI A cuts white space off the end of a text.
  return say(lines.join("").slice(0, bytes).replace(/\n$/, "."));
}

/** Thinks before it answers. */
export function reasoning(): Reply {
  return {
    type: "answer",
    parts: [
      { type: "reasoning", text: "The person wants to see reasoning, so I think first." },
      { type: "text", text: "I thought about it." },
    ],
    ending: "stop",
  };
}

/** Reports what was sent: how many texts and tool results, and each user text. For tests of resumed sessions. */
export function recall(conversation: Conversation): Reply {
  const { history, userText } = currentTurn(conversation);
  const said = history.flatMap((entry) => (entry.type === "user" ? [entry.text.trim()] : []));
  return say(JSON.stringify({ entries: history.length, said, now: userText.trim() }));
}
