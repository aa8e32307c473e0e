import { randomUUID } from "node:crypto";
import { z } from "zod";
import { isReadOnly, isSpoken, parseToolInput, type Entry } from "../conversation.ts";
import { countTokens, type Ending, type Part } from "../reply.ts";
import { formatFrame, isProviderError, splitText, type ModelApi } from "./model-api.ts";

const Content = z.union([z.string(), z.array(z.object({ type: z.string(), text: z.string().default("") }))]).nullish();
const Message = z.object({
  role: z.string(),
  content: Content,
  tool_call_id: z.string().default(""),
  tool_calls: z
    .array(z.object({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string().default("") }) }))
    .default([]),
});
const Request = z.object({
  model: z.string(),
  messages: z.array(Message),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
});

/** OpenAI's chat completions, which CLI A speaks through `@ai-sdk/openai-compatible`. */
export const CHAT_COMPLETIONS: ModelApi = {
  path: "/chat/completions",
  read(body) {
    const request = Request.parse(body);
    const system = request.messages.flatMap((message) => (message.role === "system" ? texts(message) : [])).join("\n");
    const tools = request.tools.map((tool) => tool.function.name);
    return {
      model: request.model,
      entries: request.messages.flatMap(readMessage),
      tools,
      mayOnlyRead: isReadOnly(request.messages.flatMap(texts).filter((text) => !isSpoken(text))),
      isTitleRequest: tools.length === 0 && /title generator/i.test(system),
      identity: system,
    };
  },
  *write(answer, conversation) {
    const head = { id: `chatcmpl-${randomUUID()}`, object: "chat.completion.chunk", model: conversation.model };
    const frame = (delta: object, finish: string | null = null): string =>
      formatFrame({ ...head, created: 0, choices: [{ index: 0, delta, finish_reason: finish }] });
    // A stream that is to break before any text is still a stream: the role comes first.
    yield frame({ role: "assistant", content: "" });
    let calls = 0;
    for (const part of answer.parts) yield* writePart(part, part.type === "tool_call" ? calls++ : 0, frame);
    const { ending } = answer;
    if (isProviderError(ending)) {
      yield formatFrame({ error: { message: ending.message, type: "server_error", param: null, code: ending.code } });
      return;
    }
    const finish = FINISH[ending];
    if (finish === undefined) return;
    yield frame({}, finish === "stop" && calls > 0 ? "tool_calls" : finish);
    const tokens = answer.tokens ?? countTokens(conversation, answer);
    yield formatFrame({
      ...head,
      created: 0,
      choices: [],
      usage: {
        prompt_tokens: tokens.input,
        completion_tokens: tokens.output,
        total_tokens: tokens.input + tokens.output,
        prompt_tokens_details: { cached_tokens: tokens.cached },
        completion_tokens_details: { reasoning_tokens: tokens.reasoning },
      },
    });
    yield "data: [DONE]\n\n";
  },
  describe: ({ status, code, message }) =>
    JSON.stringify({
      error: { message, type: status < 500 ? "invalid_request_error" : "server_error", param: null, code },
    }),
};

const FINISH: Readonly<Record<Extract<Ending, string>, string | undefined>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  none: undefined,
  cut: undefined,
  stall: undefined,
};

function readMessage(message: z.infer<typeof Message>): Entry[] {
  switch (message.role) {
    case "user": {
      const text = texts(message).filter(isSpoken).join("\n");
      return text === "" ? [] : [{ type: "user", text }];
    }
    case "assistant":
      return [
        ...texts(message).flatMap((text): Entry[] => (text === "" ? [] : [{ type: "assistant", text }])),
        ...message.tool_calls.map(({ id, function: call }): Entry => ({
          type: "tool_call",
          call: { id, name: call.name, input: parseToolInput(call.arguments) },
        })),
      ];
    case "tool":
      return [{ type: "tool_result", callId: message.tool_call_id, text: texts(message).join("\n") }];
    default:
      return [];
  }
}

function texts({ content }: z.infer<typeof Message>): string[] {
  if (typeof content === "string") return [content];
  return (content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function* writePart(part: Part, index: number, frame: (delta: object) => string): Iterable<string> {
  switch (part.type) {
    case "text":
      for (const content of splitText(part.text)) yield frame({ content });
      return;
    case "reasoning":
      for (const delta of splitText(part.text)) yield frame({ reasoning_content: delta });
      return;
    case "tool_call": {
      const call = { name: part.name, arguments: part.written ?? JSON.stringify(part.input) };
      yield frame({ tool_calls: [{ index, id: `call_${randomUUID()}`, type: "function", function: call }] });
    }
  }
}
