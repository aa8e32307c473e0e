import type { Conversation } from "../conversation.ts";
import type { Answer, ProviderError, Refusal } from "../reply.ts";

/** One API that a CLI speaks to its provider. */
export interface ModelApi {
  /** How the path of its requests ends. */
  readonly path: string;
  /** @throws {z.ZodError} if the body is no request of this API */
  read(body: unknown): Conversation;
  /** The frames of a streamed answer; without the closing ones when the answer ends in `none`, `cut` or `stall`. */
  write(answer: Answer, conversation: Conversation): Iterable<string>;
  /** The body this API sends with an error status. */
  describe(refusal: Refusal): string;
}

/** Whether an answer ends in an error that the stream itself reports. */
export function isProviderError(ending: Answer["ending"]): ending is ProviderError {
  return typeof ending === "object";
}

/** Whether a part is left open, as the last one of an answer that breaks off. */
export function isLeftOpen(index: number, { parts, ending }: Answer): boolean {
  return index === parts.length - 1 && (ending === "cut" || ending === "stall");
}

/** Formats one event of a stream; the chat API has no event names. */
export function formatFrame(data: unknown, event?: string): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** Cuts a text into deltas as a model would send it: at most about fifty, never inside a surrogate pair. */
export function* splitText(text: string): Iterable<string> {
  const size = Math.max(24, Math.ceil(text.length / 50));
  for (let start = 0; start < text.length;) {
    const isPairCut = /[\uD800-\uDBFF]/.test(text.charAt(start + size - 1));
    const end = start + size + (isPairCut ? 1 : 0);
    yield text.slice(start, end);
    start = end;
  }
}
