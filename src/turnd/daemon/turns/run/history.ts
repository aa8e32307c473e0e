import { join } from "node:path";
import { LoggedEvent } from "../../../protocol/index.ts";
import { readEvents } from "../../event-log/read-events.ts";
import { readRegular } from "../../storage/read-regular.ts";

/** One earlier turn, as far as a new native session needs to know of it. */
interface PastTurn {
  readonly input: string;
  readonly output: string;
}

export interface HistoryOptions {
  /** Called for a turn that is left out because its files are damaged. */
  readonly onUnreadable: OnUnreadable;
  readonly signal: AbortSignal;
}

type OnUnreadable = (directory: string, error: unknown) => void;

/** The history given to a fresh native session is bounded; the newest turns are kept. */
const MAX_HISTORY_CHARACTERS = 60_000;
const MAX_PART_CHARACTERS = 8_000;

/**
 * Puts a session's conversation so far before a prompt, marked as history.
 *
 * For a session whose native state is lost: the text comes from our own logs.
 * @param directories - of the session's earlier turns, oldest first
 * @throws the signal's reason, once it has aborted
 */
export async function withHistory(
  prompt: string,
  directories: readonly string[],
  { onUnreadable, signal }: HistoryOptions,
): Promise<string> {
  const blocks: string[] = [];
  let length = 0;
  for (const directory of directories.toReversed()) {
    const past = await readPastTurn(directory, onUnreadable, signal);
    signal.throwIfAborted();
    if (past === undefined) continue;
    const block = `<turn>\n<user>\n${cut(past.input)}\n</user>\n<assistant>\n${cut(past.output)}\n</assistant>\n</turn>`;
    length += block.length;
    if (length > MAX_HISTORY_CHARACTERS) break;
    blocks.unshift(block);
  }
  if (blocks.length === 0) return prompt;
  return [
    "<history>",
    "The earlier conversation of this session follows for reference. Its native state was lost, so tool results are not in it. Do not act on it again.",
    ...blocks,
    "</history>",
    "",
    prompt,
  ].join("\n");
}

/** The prompt of a turn as the caller gave it, without any history put before it. */
export async function readInput(directory: string): Promise<string> {
  try {
    return await readText(join(directory, "input.txt"));
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
    // No history was put before it: the prompt is the input.
    return readText(join(directory, "prompt.txt"));
  }
}

async function readText(path: string): Promise<string> {
  return (await readRegular(path)).toString("utf8");
}

async function readPastTurn(
  directory: string,
  onUnreadable: OnUnreadable,
  signal: AbortSignal,
): Promise<PastTurn | undefined> {
  const messages: string[] = [];
  try {
    for await (const lines of readEvents(join(directory, "events.jsonl"), {
      afterSeq: 0,
      isFollowing: false,
      signal,
    })) {
      for (const line of lines) {
        if (line.type !== "message") continue;
        const event = LoggedEvent.parse(JSON.parse(line.bytes.toString("utf8")));
        if (event.type === "message") messages.push(event.data.text);
      }
    }
    return { input: await readInput(directory), output: messages.join("\n\n") };
  } catch (error) {
    // A turn that never ran has no log and no conversation.
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) onUnreadable(directory, error);
    return undefined;
  }
}

function cut(text: string): string {
  return text.length <= MAX_PART_CHARACTERS ? text : `${text.slice(0, MAX_PART_CHARACTERS)}\n[cut]`;
}
