import type { Stream } from "./streams.ts";

const frame = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const chunk = (delta: unknown, more: Readonly<Record<string, unknown>> = {}) =>
  frame({
    id: "chatcmpl-7c1",
    object: "chat.completion.chunk",
    created: 1764100000,
    model: "m",
    choices: [{ index: 0, delta, finish_reason: null }],
    ...more,
  });
const BEGIN = `${chunk({ role: "assistant", content: "" })}${chunk({ content: "Let" })}`;

/** Streams of the tenth set: see `scenes/unseen-tenth.ts`. */
export const TENTH_STREAMS: readonly Stream[] = [
  {
    name: "chat-tenth-sglang",
    api: "chat",
    body: `${BEGIN}${frame({ error: { object: "error", message: "CUDA out of memory while decoding", type: "InternalServerError", code: 500 } })}data: [DONE]\n\n`,
  },
  {
    name: "chat-tenth-together",
    api: "chat",
    body: frame({ error: { message: "Internal server error", type: "server_error", param: null, code: null } }),
  },
  {
    name: "chat-tenth-proxy-words",
    api: "chat",
    body: `${BEGIN}data: upstream connect error or disconnect/reset before headers\n\n`,
  },
  // For a client that speaks the messages API.
  {
    name: "messages-tenth-chat-dialect",
    api: "messages",
    body: `${BEGIN}${chunk({ content: " me" })}data: [DONE]\n\n`,
  },
  {
    name: "messages-tenth-key",
    api: "messages",
    body: `event: error\ndata: {"type":"error","error":{"type":"authentication_error","message":"OAuth token has expired. Please obtain a new token or refresh your existing token."}}\n\n`,
  },
];
