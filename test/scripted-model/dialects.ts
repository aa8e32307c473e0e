import { createParser } from "eventsource-parser";
import { z } from "zod";
import type { Entry } from "../../src/scripted-model/conversation.ts";

/** How a CLI speaks to the model: what it sends, and what it understands of the answer. */
export interface Dialect {
  readonly name: string;
  readonly path: string;
  readonly tools: readonly string[];
  body(entries: readonly Entry[], tools?: readonly string[]): unknown;
  understand(frames: readonly Frame[]): Understood;
}

export interface Frame {
  readonly event: string | undefined;
  /** JSON, or the text as it is. */
  readonly data: unknown;
}

export interface Understood {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
  readonly isFinished: boolean;
}

const ResponsesEvent = z.object({
  type: z.string(),
  delta: z.string().default(""),
  item: z.object({ type: z.string(), name: z.string().default(""), arguments: z.string().default("") }).optional(),
});

const ChatChunk = z.object({
  choices: z.array(
    z.object({
      delta: z.object({
        content: z.string().default(""),
        reasoning_content: z.string().default(""),
        tool_calls: z.array(z.object({ function: z.object({ name: z.string(), arguments: z.string() }) })).default([]),
      }),
      finish_reason: z.string().nullable(),
    }),
  ),
});

const MessagesEvent = z.object({
  index: z.int().default(-1),
  delta: z
    .object({ text: z.string().optional(), thinking: z.string().optional(), partial_json: z.string().optional() })
    .optional(),
  content_block: z.object({ type: z.string(), name: z.string().default("") }).optional(),
});

const CLI_A_TOOLS = ["bash", "read", "edit", "write", "todowrite"];

/** CLI B. */
export const responses: Dialect = {
  name: "responses",
  path: "/responses",
  tools: ["exec_command", "write_stdin", "update_plan"],
  body: (entries, tools = responses.tools) => ({
    model: "m",
    instructions: "You are CLI B.",
    stream: true,
    input: [
      { type: "message", role: "user", content: [{ type: "input_text", text: "<environment_context>…" }] },
      ...entries.map((entry) => {
        switch (entry.type) {
          case "user":
            return { type: "message", role: "user", content: [{ type: "input_text", text: entry.text }] };
          case "assistant":
            return { type: "message", role: "assistant", content: [{ type: "output_text", text: entry.text }] };
          case "tool_call": {
            const { id, name, input } = entry.call;
            return { type: "function_call", call_id: id, name, arguments: JSON.stringify(input) };
          }
          case "tool_result":
            return { type: "function_call_output", call_id: entry.callId, output: entry.text };
        }
      }),
    ],
    tools: tools.map((name) => ({ type: "function", name })),
  }),
  understand: (frames) => {
    const events = frames.map(({ data }) => ResponsesEvent.parse(data));
    const joined = (type: string): string => events.map((event) => (event.type === type ? event.delta : "")).join("");
    const items = events.flatMap(({ type, item }) => (type === "response.output_item.done" && item ? [item] : []));
    return {
      text: joined("response.output_text.delta"),
      reasoning: joined("response.reasoning_summary_text.delta"),
      calls: items
        .filter(({ type }) => type === "function_call")
        .map((item) => ({ name: item.name, input: JSON.parse(item.arguments) })),
      isFinished: frames.at(-1)?.event === "response.completed",
    };
  },
};

/** CLI A with an OpenAI-compatible provider. */
export const chat: Dialect = {
  name: "chat completions",
  path: "/chat/completions",
  tools: CLI_A_TOOLS,
  body: (entries, tools = CLI_A_TOOLS) => ({
    model: "m",
    stream: true,
    messages: [
      { role: "system", content: "You are CLI A." },
      ...entries.map((entry) => {
        switch (entry.type) {
          case "user":
            return { role: "user", content: [{ type: "text", text: entry.text }] };
          case "assistant":
            return { role: "assistant", content: entry.text };
          case "tool_call": {
            const { id, name, input } = entry.call;
            return {
              role: "assistant",
              content: null,
              tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }],
            };
          }
          case "tool_result":
            return { role: "tool", tool_call_id: entry.callId, content: entry.text };
        }
      }),
    ],
    tools: tools.map((name) => ({ type: "function", function: { name } })),
  }),
  understand: (frames) => {
    const choices = frames.flatMap(({ data }) => (data === "[DONE]" ? [] : ChatChunk.parse(data).choices));
    return {
      text: choices.map(({ delta }) => delta.content).join(""),
      reasoning: choices.map(({ delta }) => delta.reasoning_content).join(""),
      calls: choices
        .flatMap(({ delta }) => delta.tool_calls)
        .map((call) => ({ name: call.function.name, input: JSON.parse(call.function.arguments) })),
      isFinished: frames.at(-1)?.data === "[DONE]" && choices.at(-1)?.finish_reason !== null,
    };
  },
};

const messages: Dialect = {
  name: "messages",
  path: "/messages",
  tools: CLI_A_TOOLS,
  body: (entries, tools = CLI_A_TOOLS) => ({
    model: "m",
    stream: true,
    max_tokens: 1000,
    system: [{ type: "text", text: "You are CLI A." }],
    messages: entries.map((entry) => {
      switch (entry.type) {
        case "user":
          return { role: "user", content: [{ type: "text", text: entry.text }] };
        case "assistant":
          return { role: "assistant", content: [{ type: "text", text: entry.text }] };
        case "tool_call":
          return { role: "assistant", content: [{ type: "tool_use", ...entry.call }] };
        case "tool_result":
          return {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: entry.callId, content: [{ type: "text", text: entry.text }] },
            ],
          };
      }
    }),
    tools: tools.map((name) => ({ name, input_schema: {} })),
  }),
  understand: (frames) => {
    const events = frames.map(({ data }) => MessagesEvent.parse(data));
    const input = (index: number): string =>
      events.map((event) => (event.index === index ? (event.delta?.partial_json ?? "") : "")).join("");
    return {
      text: events.map(({ delta }) => delta?.text ?? "").join(""),
      reasoning: events.map(({ delta }) => delta?.thinking ?? "").join(""),
      calls: events.flatMap(({ index, content_block: block }) =>
        block?.type === "tool_use" ? [{ name: block.name, input: JSON.parse(input(index)) }] : [],
      ),
      isFinished: frames.at(-1)?.event === "message_stop",
    };
  },
};

export const DIALECTS: readonly Dialect[] = [responses, chat, messages];

/** Cuts an event stream into frames; what is no JSON stays text. */
export function readFrames(text: string): Frame[] {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => frames.push({ event, data: data.startsWith("{") ? JSON.parse(data) : data }),
  });
  parser.feed(text);
  return frames;
}
