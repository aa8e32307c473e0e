/** Distinguishes messages that a retry printed once more from new ones. */
export interface RepeatFilter {
  /** Whether this message was shown already, by the attempt that was cut. */
  isRepeat(text: string): boolean;
  /** The request is answered: the next message answers another one, unless a retry comes first. */
  answered(): void;
  /** The CLI asks the provider once more. */
  retried(): void;
}

/** What is kept of one request; an older message that comes again after that much is shown again. */
const MAX_CHARACTERS = 4_000_000;
const MAX_MESSAGES = 500;

/**
 * Creates a filter for one process, and for one kind of message.
 *
 * A stream that is cut after a finished message is asked for again, and the message is printed once an attempt. Only a
 * text of the same request, after a retry, is a repeat; the same words elsewhere in a turn are shown.
 * @see docs/contracts/cli-b.md §2.3 (6); fixture cli-a/1.14.34/stream-cut-after-text-recovered
 */
export function createRepeatFilter(): RepeatFilter {
  let shown: string[] = [];
  let expected: string[] = [];
  let characters = 0;
  let isNextRequest = false;
  return {
    isRepeat(text) {
      const index = expected.indexOf(text);
      if (index >= 0) {
        expected.splice(index, 1);
        return true;
      }
      expected = [];
      if (isNextRequest) {
        shown = [];
        characters = 0;
      }
      isNextRequest = false;
      shown.push(text);
      characters += text.length;
      while (characters > MAX_CHARACTERS || shown.length > MAX_MESSAGES) characters -= shown.shift()?.length ?? 0;
      return false;
    },
    answered() {
      isNextRequest = true;
    },
    retried() {
      // What is shown belongs to the request before as long as this one has shown nothing.
      expected = isNextRequest ? [] : [...shown];
    },
  };
}
