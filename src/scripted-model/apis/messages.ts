import { randomUUID } from "node:crypto";
import { z } from "zod";
import { isReadOnly, isSpoken, type Entry } from "../conversation.ts";
import { countTokens, type Ending, type Part } from "../reply.ts";
import { formatFrame, isLeftOpen, isProviderError, splitText, type ModelApi } from "./model-api.ts";

const Text = z.object({ type: z.string(), text: z.string().default("") });
const Block = z.object({
  type: z.string(),
  text: z.string().default(""),
  id: z.string().default(""),
  name: z.string().default(""),
  input: z.record(z.string(), z.unknown()).default({}),
  tool_use_id: z.string().default(""),
  content: z.union([z.string(), z.array(Text)]).optional(),
});
const Message = z.object({ role: z.string(), content: z.union([z.string(), z.array(Block)]) });
const Request = z.object({
  model: z.string(),
  system: z.union([z.string(), z.array(Text)]).default(""),
  messages: z.array(Message),
  tools: z.array(z.object({ name: z.string() })).default([]),
});

/** Anthropic's messages, which CLI A speaks through `@ai-sdk/anthropic`. */
export const MESSAGES: ModelApi = {
  path: "/messages",
  read(body) {
    const request = Request.parse(body);
    const system = joinTexts(request.system);
    const tools = request.tools.map((tool) => tool.name);
    return {
      model: request.model,
      entries: request.messages.flatMap(readMessage),
      tools,
      mayOnlyRead: isReadOnly(request.messages.flatMap(toBlocks).flatMap(({ text }) => (isSpoken(text) ? [] : [text]))),
      isTitleRequest: tools.length === 0 && /title generator/i.test(system),
      identity: system,
    };
  },
  *write(answer, conversation) {
    const tokens = answer.tokens ?? countTokens(conversation, answer);
    const usage = { input_tokens: tokens.input - tokens.cached, cache_read_input_tokens: tokens.cached };
    const frame = (type: string, data: object): string => formatFrame({ type, ...data }, type);
    yield frame("message_start", {
      message: {
        id: `msg_${randomUUID()}`,
        type: "message",
        role: "assistant",
        model: conversation.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { ...usage, output_tokens: 1 },
      },
    });
    for (const [index, part] of answer.parts.entries()) {
      yield frame("content_block_start", { index, content_block: createBlock(part) });
      for (const delta of deltas(part)) yield frame("content_block_delta", { index, delta });
      if (isLeftOpen(index, answer)) return;
      yield frame("content_block_stop", { index });
    }
    const { ending } = answer;
    if (isProviderError(ending)) {
      yield frame("error", { error: { type: ERROR_TYPES.get(ending.code) ?? "api_error", message: ending.message } });
      return;
    }
    const reason = STOP_REASONS[ending];
    if (reason === undefined) return;
    const isToolUse = reason === "end_turn" && answer.parts.some((part) => part.type === "tool_call");
    yield frame("message_delta", {
      delta: { stop_reason: isToolUse ? "tool_use" : reason, stop_sequence: null },
      usage: { ...usage, output_tokens: tokens.output },
    });
    yield frame("message_stop", {});
  },
  describe: ({ status, code, message }) =>
    JSON.stringify({ type: "error", error: { type: ERROR_TYPES.get(code) ?? errorType(status), message } }),
};

const STOP_REASONS: Readonly<Record<Extract<Ending, string>, string | undefined>> = {
  stop: "end_turn",
  length: "max_tokens",
  "content-filter": "refusal",
  none: undefined,
  cut: undefined,
  stall: undefined,
};

const ERROR_TYPES: ReadonlyMap<string, string> = new Map([
  ["invalid_api_key", "authentication_error"],
  ["rate_limit_exceeded", "rate_limit_error"],
  ["server_is_overloaded", "overloaded_error"],
  ["model_not_found", "not_found_error"],
]);

function errorType(status: number): string {
  return status < 500 ? "invalid_request_error" : "api_error";
}

function toBlocks({ content }: z.infer<typeof Message>): z.infer<typeof Block>[] {
  return typeof content === "string" ? [Block.parse({ type: "text", text: content })] : content;
}

function readMessage({ role, content }: z.infer<typeof Message>): Entry[] {
  const blocks = toBlocks({ role, content });
  if (role === "assistant") return blocks.flatMap(readAssistantBlock);
  const spoken = blocks.flatMap((block) => (block.type === "text" && isSpoken(block.text) ? [block.text] : []));
  const results = blocks.flatMap((block): Entry[] =>
    block.type === "tool_result"
      ? [{ type: "tool_result", callId: block.tool_use_id, text: joinTexts(block.content ?? "") }]
      : [],
  );
  return [...results, ...(spoken.length === 0 ? [] : [{ type: "user" as const, text: spoken.join("\n") }])];
}

function readAssistantBlock(block: z.infer<typeof Block>): Entry[] {
  if (block.type === "text") return [{ type: "assistant", text: block.text }];
  if (block.type !== "tool_use") return [];
  return [{ type: "tool_call", call: { id: block.id, name: block.name, input: block.input } }];
}

function joinTexts(content: string | z.infer<typeof Text>[]): string {
  return typeof content === "string" ? content : content.map((part) => part.text).join("\n");
}

function createBlock(part: Part): object {
  switch (part.type) {
    case "text":
      return { type: "text", text: "" };
    case "reasoning":
      return { type: "thinking", thinking: "", signature: "" };
    case "tool_call":
      return { type: "tool_use", id: `toolu_${randomUUID().replaceAll("-", "")}`, name: part.name, input: {} };
  }
}

function* deltas(part: Part): Iterable<object> {
  switch (part.type) {
    case "text":
      for (const text of splitText(part.text)) yield { type: "text_delta", text };
      return;
    case "reasoning":
      for (const thinking of splitText(part.text)) yield { type: "thinking_delta", thinking };
      yield { type: "signature_delta", signature: "c2NyaXB0ZWQ=" };
      return;
    case "tool_call":
      yield { type: "input_json_delta", partial_json: part.written ?? JSON.stringify(part.input) };
  }
}
