import { randomUUID } from "node:crypto";
import { z } from "zod";
import { isReadOnly, isSpoken, parseToolInput, type Conversation, type Entry } from "../conversation.ts";
import { IN_NAMESPACE } from "../tools.ts";
import { countTokens, type Answer, type Part } from "../reply.ts";
import { formatFrame, isLeftOpen, isProviderError, splitText, type ModelApi } from "./model-api.ts";

const TextPart = z.object({ type: z.string(), text: z.string().default("") });
const Texts = z.union([z.string(), z.array(TextPart)]);
const Item = z.object({
  type: z.string().default("message"),
  role: z.string().optional(),
  content: Texts.nullish(),
  call_id: z.string().default(""),
  name: z.string().default(""),
  arguments: z.string().optional(),
  input: z.string().optional(),
  output: Texts.optional(),
});
/** CLI B puts the tools of an MCP server into a namespace. */
const Tool = z.object({
  type: z.string(),
  name: z.string().optional(),
  tools: z.array(z.object({ name: z.string() })).default([]),
});
const Request = z.object({
  model: z.string(),
  instructions: z.string().default(""),
  input: z.union([z.string(), z.array(Item)]),
  tools: z.array(Tool).default([]),
  prompt_cache_key: z.string().default(""),
});

/** OpenAI's Responses API, which CLI B speaks. */
export const RESPONSES: ModelApi = {
  path: "/responses",
  read(body) {
    const request = Request.parse(body);
    const items =
      typeof request.input === "string" ? [Item.parse({ role: "user", content: request.input })] : request.input;
    return {
      model: request.model,
      entries: items.flatMap(readItem),
      tools: request.tools.flatMap(namesOf),
      mayOnlyRead: isReadOnly(
        items.flatMap(({ role, content }) => (role === "developer" ? [joinTexts(content ?? "")] : [])),
      ),
      isTitleRequest: false,
      identity: request.instructions + request.prompt_cache_key,
    };
  },
  *write(answer, conversation) {
    const id = `resp_${randomUUID()}`;
    let sequence = 0;
    const frame = (type: string, data: object): string =>
      formatFrame({ type, sequence_number: sequence++, ...data }, type);
    yield frame("response.created", { response: { id, object: "response", status: "in_progress" } });
    const output: object[] = [];
    for (const part of answer.parts) {
      const item = createItem(part);
      const place = { output_index: output.length, item_id: item.id };
      yield frame("response.output_item.added", {
        output_index: output.length,
        item: { ...item, ...EMPTY[part.type] },
      });
      yield* writeDeltas(part, place, frame);
      if (isLeftOpen(output.length, answer)) return;
      yield frame("response.output_item.done", { output_index: output.length, item });
      output.push(item);
    }
    yield* writeEnd(answer, conversation, { id, object: "response", output }, frame);
  },
  describe: ({ status, code, message }) =>
    JSON.stringify({
      error: { message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code },
    }),
};

function namesOf({ type, name = type, tools }: z.infer<typeof Tool>): string[] {
  return type === "namespace" ? tools.map((tool) => name + IN_NAMESPACE + tool.name) : [name];
}

function readItem(item: z.infer<typeof Item>): Entry[] {
  switch (item.type) {
    case "message": {
      const text = joinTexts(item.content ?? "");
      if (item.role === "assistant") return [{ type: "assistant", text }];
      return item.role === "user" && isSpoken(text) ? [{ type: "user", text }] : [];
    }
    case "function_call":
    case "custom_tool_call": {
      const input = parseToolInput(item.arguments ?? item.input ?? "");
      return [{ type: "tool_call", call: { id: item.call_id, name: item.name, input } }];
    }
    case "function_call_output":
    case "custom_tool_call_output":
      return [{ type: "tool_result", callId: item.call_id, text: joinTexts(item.output ?? "") }];
    default:
      // Reasoning and the provider's own tools carry nothing that a scenario needs.
      return [];
  }
}

function joinTexts(texts: z.infer<typeof Texts>): string {
  return typeof texts === "string" ? texts : texts.map((part) => part.text).join("\n");
}

type Frame = (type: string, data: object) => string;

const EMPTY = { text: { content: [] }, reasoning: { summary: [] }, tool_call: { arguments: "" } } as const;

function createItem(part: Part) {
  switch (part.type) {
    case "text":
      return {
        type: "message",
        id: `msg_${randomUUID()}`,
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: part.text, annotations: [] }],
      };
    case "reasoning":
      return { type: "reasoning", id: `rs_${randomUUID()}`, summary: [{ type: "summary_text", text: part.text }] };
    case "tool_call": {
      const [name = "", namespace] = part.name.split(IN_NAMESPACE).toReversed();
      return {
        type: "function_call",
        id: `fc_${randomUUID()}`,
        call_id: `call_${randomUUID()}`,
        name,
        ...(namespace === undefined ? {} : { namespace }),
        arguments: part.written ?? JSON.stringify(part.input),
        status: "completed",
      };
    }
  }
}

function* writeDeltas(part: Part, place: object, frame: Frame): Iterable<string> {
  switch (part.type) {
    case "text":
      for (const delta of splitText(part.text)) {
        yield frame("response.output_text.delta", { ...place, content_index: 0, delta });
      }
      return;
    case "reasoning":
      for (const delta of splitText(part.text)) {
        yield frame("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta });
      }
      return;
    case "tool_call":
      yield frame("response.function_call_arguments.delta", {
        ...place,
        delta: part.written ?? JSON.stringify(part.input),
      });
  }
}

function* writeEnd(answer: Answer, conversation: Conversation, response: object, frame: Frame): Iterable<string> {
  const { ending } = answer;
  if (isProviderError(ending)) {
    yield frame("response.failed", { response: { ...response, status: "failed", error: ending } });
    return;
  }
  const tokens = answer.tokens ?? countTokens(conversation, answer);
  const usage = {
    input_tokens: tokens.input,
    input_tokens_details: { cached_tokens: tokens.cached },
    output_tokens: tokens.output,
    output_tokens_details: { reasoning_tokens: tokens.reasoning },
    total_tokens: tokens.input + tokens.output,
  };
  switch (ending) {
    case "stop":
      yield frame("response.completed", { response: { ...response, status: "completed", usage } });
      return;
    case "length":
    case "content-filter": {
      const reason = ending === "length" ? "max_output_tokens" : "content_filter";
      const end = { ...response, status: "incomplete", incomplete_details: { reason }, usage };
      yield frame("response.incomplete", { response: end });
      return;
    }
    case "none":
    case "cut":
    case "stall":
  }
}
