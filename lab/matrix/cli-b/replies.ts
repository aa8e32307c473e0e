/** What the scripted provider does with one request. */
export type Reply =
  | { readonly do: "answer"; readonly status: number; readonly body: string | Buffer; readonly headers: Headers }
  /** Frames of a stream, and how the connection ends then. */
  | { readonly do: "stream"; readonly frames: readonly string[]; readonly end: "close" | "reset" | "hang" }
  | { readonly do: "reset" | "hang" };
type Headers = Readonly<Record<string, string>>;

/** Tokens of every answer, so that a total shows how many answers it counts. */
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};
type Item = Readonly<Record<string, unknown>>;

let count = 0;
const frame = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const nextId = (kind: string): string => `${kind}_${(count += 1)}`;
const CREATED = frame("response.created", { response: { id: "resp_1", object: "response", status: "in_progress" } });

/** A text of the model. */
export function text(words: string): Item {
  const content = [{ type: "output_text", text: words, annotations: [] }];
  return { type: "message", id: nextId("msg"), role: "assistant", status: "completed", content };
}

/** A thought of the model. */
export function thought(words: string): Item {
  return { type: "reasoning", id: nextId("rs"), summary: [{ type: "summary_text", text: words }] };
}

/** A call of a tool; `server.tool` calls one in a namespace. */
export function call(name: string, input: unknown): Item {
  const [tool = name, namespace] = name.split("/").toReversed();
  const id = nextId("call");
  const place = namespace === undefined ? {} : { namespace };
  const written = typeof input === "string" ? input : JSON.stringify(input);
  return { type: "function_call", id: `fc_${id}`, call_id: id, name: tool, ...place, arguments: written };
}

/** A command of the model. */
export function shell(command: string, yieldMs = 10_000): Item {
  return call("exec_command", { cmd: command, yield_time_ms: yieldMs });
}

/** A patch, handed to the shell as models that the CLI does not know do. */
export function patch(body: string): Item {
  return shell(`apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF`);
}

/** What the provider itself looked up. */
export function lookup(action: Item): Item {
  return { type: "web_search_call", id: nextId("ws"), status: "completed", action };
}

/** An answer of these items that is complete. */
export function answer(...items: readonly Item[]): Reply {
  return { do: "stream", frames: [...begin(items), completed(USAGE)], end: "close" };
}

/** The same with a usage of its own; null: none. */
export function answerWith(usage: Item | null, ...items: readonly Item[]): Reply {
  return { do: "stream", frames: [...begin(items), completed(usage)], end: "close" };
}

/** An answer of these items that ends otherwise: the connection, or an event. */
export function broken(end: string, ...items: readonly Item[]): Reply {
  const isConnection = end === "close" || end === "reset" || end === "hang";
  const frames = [...begin(items), ...(isConnection ? [] : [end])];
  return { do: "stream", frames, end: isConnection ? end : "close" };
}

/** The end of a stream that failed. */
export function failed(code: string, message: string): string {
  const response = { id: "resp_1", object: "response", status: "failed", error: { code, message } };
  return frame("response.failed", { response });
}

/** The end of a stream that stopped early. */
export function incomplete(reason: string): string {
  const response = { id: "resp_1", object: "response", status: "incomplete", incomplete_details: { reason } };
  return frame("response.incomplete", { response });
}

/** An error event inside a stream. */
export function errorEvent(code: string, message: string): string {
  return frame("error", { code, message, param: null });
}

/** A refusal in the shape that most providers took over from OpenAI. */
export function refusal(
  status: number,
  error: { readonly message: string; readonly code?: string; readonly type?: string },
  headers: Headers = {},
): Reply {
  const { message, code = null, type = "invalid_request_error" } = error;
  return page(status, JSON.stringify({ error: { message, type, param: null, code } }), {
    "content-type": "application/json",
    ...headers,
  });
}

/** Any answer that is no stream. */
export function page(status: number, body: string | Buffer, headers: Headers = { "content-type": "text/html" }): Reply {
  return { do: "answer", status, body, headers };
}

export const RESET: Reply = { do: "reset" };
export const HANG: Reply = { do: "hang" };

function begin(items: readonly Item[]): string[] {
  const done = items.map((item, index) => frame("response.output_item.done", { output_index: index, item }));
  return [CREATED, ...done];
}

function completed(usage: Item | null): string {
  const response = { id: "resp_1", object: "response", status: "completed", ...(usage === null ? {} : { usage }) };
  return frame("response.completed", { response });
}
