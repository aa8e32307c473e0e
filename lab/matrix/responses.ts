import type { Answer, Ending, Piece } from "./reply.ts";

type Item = Readonly<Record<string, unknown>>;

/** Tokens of every answer, so that a total shows how many answers it counts. */
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};

let count = 0;
const frame = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const nextId = (kind: string): string => `${kind}_${(count += 1)}`;

/**
 * The frames of an answer in the Responses API. Each item is whole before the stream ends or breaks, as CLI B prints only
 * whole ones; what it does with deltas is the scripted model's to show.
 */
export function writeResponse({ pieces, ending, usage }: Answer): string[] {
  const done = pieces.map((piece, index) =>
    frame("response.output_item.done", { output_index: index, item: toItem(piece) }),
  );
  return [respond("created", "in_progress", {}), ...done, ...writeEnd(ending, usage)];
}

function respond(event: string, status: string, more: object): string {
  return frame(`response.${event}`, { response: { id: "resp_1", object: "response", status, ...more } });
}

function writeEnd(ending: Ending, usage: Item | null = USAGE): string[] {
  switch (ending) {
    case "stop":
      return [respond("completed", "completed", usage === null ? {} : { usage })];
    case "length":
      return [stopped("max_output_tokens")];
    case "content-filter":
      return [stopped("content_filter")];
    case "none":
    case "cut":
    case "stall":
      return [];
    default:
      if ("stopped" in ending) return [stopped(ending.stopped)];
      if ("event" in ending) return [frame("error", { ...ending.event, param: null })];
      return [respond("failed", "failed", { error: ending })];
  }
}

const stopped = (reason: string): string => respond("incomplete", "incomplete", { incomplete_details: { reason } });

/** As CLI B names its tools: `server/tool` is a tool in a namespace. */
function toItem(piece: Piece): Item {
  switch (piece.type) {
    case "text": {
      const content = [{ type: "output_text", text: piece.text, annotations: [] }];
      return { type: "message", id: nextId("msg"), role: "assistant", status: "completed", content };
    }
    case "reasoning":
      return { type: "reasoning", id: nextId("rs"), summary: [{ type: "summary_text", text: piece.text }] };
    case "run":
      return callItem("exec_command", { cmd: piece.command, yield_time_ms: piece.yieldMs ?? 10_000 });
    case "call":
      return callItem(piece.name, piece.input);
    case "item":
      return { id: nextId("item"), status: "completed", ...piece.item };
  }
}

function callItem(name: string, input: Item | string): Item {
  const [tool = name, namespace] = name.split("/").toReversed();
  const id = nextId("call");
  const place = namespace === undefined ? {} : { namespace };
  const written = typeof input === "string" ? input : JSON.stringify(input);
  return { type: "function_call", id: `fc_${id}`, call_id: id, name: tool, ...place, arguments: written };
}
