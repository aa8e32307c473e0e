import { currentTurn, plainOutput, toolOutcomes, type Conversation, type Entry } from "../conversation.ts";
import { say, type Reply } from "../reply.ts";
import { act } from "./act.ts";

const FILE = "sum.sh";

// A shell script, so that the CLIs' user needs no interpreter a machine may lack.
const PROGRAM = `#!/bin/sh
# Adds the numbers from 1 to 10.
sum=0
for number in 1 2 3 4 5 6 7 8 9 10; do
  sum=$((sum + number))
done
echo "the sum of 1 to 10 is $sum"
`;

/** What {@link program} does, for a plan. */
export const PROGRAM_STEPS = [
  `1. Create \`${FILE}\`, a shell script that adds the numbers from 1 to 10.`,
  `2. Run \`sh ${FILE}\`.`,
  "3. Say what it printed.",
].join("\n");

/** The answer to a question about what was done earlier; undefined for what is no such question. */
export function recallProgram(conversation: Conversation): string | undefined {
  const { history, userText } = currentTurn(conversation);
  if (!/\b(did|earlier|before|previous|again)\b/i.test(userText)) return undefined;
  const memory = remember(history, userText);
  if (memory !== undefined) {
    return `Earlier in this conversation I created \`${memory.file}\`; when I ran it, it printed: ${memory.output}`;
  }
  if (history.length > 0) return undefined;
  return "No earlier part of this conversation was sent to me, so I cannot say what happened in it.";
}

/**
 * Creates a small program, runs it and answers with what it printed; afterwards it can be asked about that.
 *
 * Every answer is made from the conversation it was sent, so an answer proves what the CLI's history holds.
 */
export function program(conversation: Conversation): Reply {
  const [written, run] = currentTurn(conversation).outcomes;
  const recalled = written === undefined ? recallProgram(conversation) : undefined;
  if (recalled !== undefined) return say(recalled);
  if (written === undefined) return act(conversation, { type: "write", path: FILE, content: PROGRAM });
  if (run === undefined) {
    return act(conversation, { type: "run", command: `sh ${FILE}`, purpose: "Runs the new program" });
  }
  return say(`I created \`${FILE}\` and ran it. It printed: ${plainOutput(run.output)}`);
}

interface Memory {
  readonly file: string;
  readonly output: string;
}

/** Finds the program in the history: as tool calls, or in words when only the texts were passed on. */
function remember(history: readonly Entry[], userText: string): Memory | undefined {
  const run = toolOutcomes(history).findLast(({ call }) => JSON.stringify(call.input).includes(`sh ${FILE}`));
  if (run !== undefined) return { file: FILE, output: plainOutput(run.output) };
  const texts = [...history.flatMap((entry) => ("text" in entry ? [entry.text] : [])), userText];
  const told = /I created `([^`]+)` and ran it\. It printed: (.+)/.exec(texts.join("\n"));
  const [, file, output] = told ?? [];
  return file === undefined || output === undefined ? undefined : { file, output: output.trim() };
}
