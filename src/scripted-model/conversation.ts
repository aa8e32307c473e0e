/** A call of one of the CLI's tools, as the model made it. `input` is the parsed arguments. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The conversation so far, oldest first. */
export type Entry =
  | { readonly type: "user"; readonly text: string }
  | { readonly type: "assistant"; readonly text: string }
  | { readonly type: "tool_call"; readonly call: ToolCall }
  | { readonly type: "tool_result"; readonly callId: string; readonly text: string };

/** A request to the model, whichever API it came through. */
export interface Conversation {
  readonly model: string;
  readonly entries: readonly Entry[];
  /** Names of the tools the CLI offers. */
  readonly tools: readonly string[];
  /** Whether the CLI has told the model that it may change nothing: it plans. */
  readonly mayOnlyRead: boolean;
  /** CLI A asks a second, small model for the title of a new session. Such a request gets a title and no scenario. */
  readonly isTitleRequest: boolean;
  /** Distinguishes retries of one request from an equal request of another session: instructions, cache key. */
  readonly identity: string;
}

/** A finished tool call of the turn under way. */
export interface ToolOutcome {
  readonly call: ToolCall;
  readonly output: string;
}

/** The last user text, and what the model has done since. */
export interface CurrentTurn {
  readonly userText: string;
  readonly outcomes: readonly ToolOutcome[];
  /** Entries before the last user text. */
  readonly history: readonly Entry[];
}

/** Cuts a conversation at its last user text. */
export function currentTurn(conversation: Conversation): CurrentTurn {
  const { entries } = conversation;
  const start = entries.findLastIndex((entry) => entry.type === "user");
  const last = entries[start];
  return {
    userText: last?.type === "user" ? last.text : "",
    outcomes: toolOutcomes(entries.slice(start + 1)),
    history: entries.slice(0, Math.max(start, 0)),
  };
}

/**
 * Pairs calls with their results, in the order of the calls.
 *
 * A `write_stdin` that polled a command CLI B had left running belongs to the outcome of that command.
 */
export function toolOutcomes(entries: readonly Entry[]): ToolOutcome[] {
  const results = new Map(
    entries.flatMap((entry) => (entry.type === "tool_result" ? [[entry.callId, entry.text] as const] : [])),
  );
  const outcomes: ToolOutcome[] = [];
  for (const entry of entries) {
    const output = entry.type === "tool_call" ? results.get(entry.call.id) : undefined;
    if (entry.type !== "tool_call" || output === undefined) continue;
    const polled = entry.call.name === "write_stdin" ? outcomes.pop() : undefined;
    if (polled === undefined) outcomes.push({ call: entry.call, output });
    else outcomes.push({ call: polled.call, output: continueOutput(polled.output, output) });
  }
  return outcomes;
}

/** The newer frame is kept: it shows whether the command still runs. */
function continueOutput(earlier: string, later: string): string {
  return later.replace(OUTPUT_MARK, () => OUTPUT_MARK + plainOutput(earlier));
}

const OUTPUT_MARK = "Output:\n";

/** What a tool printed, without the frame that CLI B's shell tools put around it. */
export function plainOutput(output: string): string {
  const isFramed = /^(Chunk ID|Exit code|Wall time|Process exited)\b/m.test(output) && output.includes(OUTPUT_MARK);
  return (isFramed ? output.slice(output.indexOf(OUTPUT_MARK) + OUTPUT_MARK.length) : output).trim();
}

/**
 * Whether the person wrote a user text.
 *
 * Both CLIs also send texts of their own in the user's name: the working directory, the instructions of a repository.
 */
export function isSpoken(text: string): boolean {
  return !/^\s*(<(environment_context|user_instructions|system-reminder|turn_aborted|skills?|permissions)\b|# AGENTS\.md)/.test(
    text,
  );
}

const RIGHTS = /Plan mode ACTIVE|mode has changed from plan to build|`sandbox_mode` is `[a-z-]+`/g;

/**
 * Whether the newest of what a CLI tells the model about its rights lets it read only.
 *
 * @param texts - all that it sends besides what people and the model said, oldest first
 */
export function isReadOnly(texts: readonly string[]): boolean {
  const newest = texts.join("\n").match(RIGHTS)?.at(-1) ?? "";
  return newest === "Plan mode ACTIVE" || newest.includes("`read-only`");
}

/** Parses a tool call's arguments; anything but a JSON object is kept under `raw`. */
export function parseToolInput(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  } catch {
    // Not JSON: freeform tools take plain text.
  }
  return { raw: text };
}
