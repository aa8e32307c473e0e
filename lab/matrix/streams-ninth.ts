import type { Stream } from "./streams.ts";

const frame = (data: unknown, event?: string): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
const CHUNK = { id: "chatcmpl-8c1", object: "chat.completion.chunk", created: 1795000000, model: "qwen3-coder" };
const BEGUN = frame({
  ...CHUNK,
  choices: [{ index: 0, delta: { role: "assistant", content: "Let me" }, finish_reason: null }],
});
const START = frame(
  {
    type: "message_start",
    message: {
      id: "msg_01Q",
      type: "message",
      role: "assistant",
      model: "claude-sonnet-4-6",
      content: [],
      stop_reason: null,
      usage: { input_tokens: 31, output_tokens: 1 },
    },
  },
  "message_start",
);

/** What makers and gateways send in a stream that has begun well. */
export const NINTH_STREAMS: readonly Stream[] = [
  {
    name: "chat-ninth-vllm",
    api: "chat",
    body: `${BEGUN}${frame({ error: { object: "error", message: "EngineCore encountered an issue. See stack trace (above) for the root cause.", type: "InternalServerError", param: null, code: 500 } })}data: [DONE]\n\n`,
  },
  {
    name: "chat-ninth-router",
    api: "chat",
    body: `${BEGUN}${frame({ ...CHUNK, provider: "Chutes", error: { code: 502, message: "Upstream error from Chutes: Upstream idle timeout exceeded" }, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "error", native_finish_reason: null }] })}data: [DONE]\n\n`,
  },
  {
    name: "chat-ninth-no-json",
    api: "chat",
    body: `${BEGUN}data: upstream connect error or disconnect/reset before headers. reset reason: overflow\n\n`,
  },
  {
    name: "chat-ninth-filtered",
    api: "chat",
    body: `${frame({ ...CHUNK, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] })}${frame({ ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: "content_filter" }], usage: { prompt_tokens: 20, completion_tokens: 0, total_tokens: 20 } })}data: [DONE]\n\n`,
  },
  {
    name: "responses-ninth-chat",
    api: "responses",
    body: `${BEGUN}${frame({ ...CHUNK, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}data: [DONE]\n\n`,
  },
  {
    name: "messages-ninth-broken",
    api: "messages",
    body: `${START}${frame({ type: "error", error: { type: "api_error", message: "Internal server error" }, request_id: "req_011CV" }, "error")}`,
  },
];
