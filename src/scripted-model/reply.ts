import type { Conversation, ToolCall } from "./conversation.ts";

/** A piece of an answer, in the order the model gives them. */
export type Part =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "reasoning"; readonly text: string }
  | {
      readonly type: "tool_call";
      readonly name: string;
      readonly input: ToolCall["input"];
      /** Arguments as the model wrote them, in place of `input`: a model may write what is no JSON. */
      readonly written?: string;
    };

/** Tokens of one request. Input includes cached tokens, output includes reasoning. */
export interface TokenCount {
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly reasoning: number;
}

/** An error in the provider's own words. */
export interface ProviderError {
  /** As OpenAI spells it, such as `insufficient_quota`. */
  readonly code: string;
  readonly message: string;
}

/**
 * How the stream of an answer ends. `none`: cleanly, without the API's closing event. `cut`: the connection breaks.
 * `stall`: nothing more comes.
 */
export type Ending = "stop" | "length" | "content-filter" | "none" | "cut" | "stall" | ProviderError;

/** A streamed answer. */
export interface Answer {
  readonly type: "answer";
  readonly parts: readonly Part[];
  readonly ending: Ending;
  readonly tokens?: TokenCount;
}

/** An HTTP status with the body the API has for it, or with `body` as it is. */
export interface Refusal extends ProviderError {
  readonly type: "refusal";
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** What the model does with a request. `hang`: no response headers; `silence`: headers, then nothing. */
export type Reply =
  | Answer
  | Refusal
  | { readonly type: "hang" }
  | { readonly type: "silence" }
  | { readonly type: "page"; readonly html: string };

/** How often this very request was made before, and the marker's text after the colon. */
export interface Cue {
  readonly argument: string;
  /** 1 for the first request, 2 for its first retry. */
  readonly attempt: number;
}

/** Decides what the model does. Keeps no state: everything it needs is in the conversation, as with a real model. */
export type Scenario = (conversation: Conversation, cue: Cue) => Reply;

/** An answer of one text. */
export function say(text: string, ending: Ending = "stop"): Answer {
  return { type: "answer", parts: [{ type: "text", text }], ending };
}

/** Tokens by the rule of thumb of four characters each. */
export function countTokens(conversation: Conversation, answer: Answer): TokenCount {
  const sent = JSON.stringify(conversation.entries).length + conversation.identity.length;
  const reasoning = answer.parts.filter((part) => part.type === "reasoning");
  return {
    input: Math.ceil(sent / 4),
    cached: 0,
    output: Math.ceil(JSON.stringify(answer.parts).length / 4),
    reasoning: Math.ceil(reasoning.reduce((sum, part) => sum + part.text.length, 0) / 4),
  };
}
