import { warningEvent, type Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent, Translation } from "../../contract/translator.ts";
import { createToolTracker } from "../translate/tools.ts";
import { createAsks } from "./asks.ts";
import { createItemIds } from "./item-ids.ts";
import { OTHER_ITEMS, TextItem, toToolItem } from "./items.ts";
import { Delta, ItemNotice, type Answered, type Notification, type ServerRequest } from "./records.ts";
import { createTexts } from "./texts.ts";
import { createToolOutput } from "./tool-output.ts";

/** The items of one turn: what the model writes, what its tools do, and what is asked about them. */
export interface TurnItems {
  start(params: Notification["params"], native: Native): TranslatedEvent[];
  complete(params: Notification["params"], native: Native): Translation;
  delta(
    kind: "message" | "reasoning",
    params: Notification["params"],
    atMs: number | undefined,
    native: Native,
  ): TranslatedEvent[];
  toolOutput(params: Notification["params"], atMs: number | undefined, native: Native): TranslatedEvent[];
  ask(request: ServerRequest, native: Native): TranslatedEvent[];
  answer(answered: Answered, native: Native): TranslatedEvent[];
  /** What is being written will not be completed. */
  discard(reason: "retry" | "steer", native: Native): TranslatedEvent[];
  /** Closes what is open when the turn ends: the server closes no command. */
  close(native?: Native): TranslatedEvent[];
  /** A tool has begun and not ended, or a person is asked. */
  isBusy(): boolean;
  /** Whether the provider has sent anything. */
  hasAny(): boolean;
  /** Text of the last message. */
  output(): string | null;
}

export interface TurnItemsOptions {
  readonly maxToolOutputBytes: number;
  readonly holdBack: (text: string) => number;
}

/** Follows the items of one turn. */
export function createTurnItems({ maxToolOutputBytes, holdBack }: TurnItemsOptions): TurnItems {
  const tools = createToolTracker();
  const texts = createTexts(holdBack);
  const outputs = createToolOutput(maxToolOutputBytes, holdBack);
  const asks = createAsks();
  const ids = createItemIds();
  const items = new Map<string, unknown>();
  let hasItems = false;
  let output: string | null = null;

  return {
    start(params, native) {
      const { data } = ItemNotice.safeParse(params);
      if (data === undefined) return [];
      const { item } = data;
      hasItems = true;
      items.set(item.id, item);
      const tool = toToolItem(item, ids.begin(item.id));
      return tool === undefined ? [] : tools.start(tool, native);
    },
    complete(params, native) {
      const { data } = ItemNotice.safeParse(params);
      if (data === undefined) return { events: [] };
      const { item } = data;
      const text = TextItem.safeParse(item);
      if (text.success) {
        hasItems = true;
        if (text.data.type !== "reasoning") output = text.data.text;
        return { events: texts.complete(text.data, native), isToolFree: tools.isIdle() };
      }
      const name = ids.nameOf(item.id);
      const tool = toToolItem(item, name);
      if (tool !== undefined) {
        outputs.end(name);
        return { events: tools.end(tool, native), isStepBoundary: tools.isIdle(), isToolFree: tools.isIdle() };
      }
      if (item.type === "contextCompaction")
        return { events: [{ ...warningEvent("context_compacted", COMPACTED), native }] };
      if (OTHER_ITEMS.has(item.type)) return { events: [] };
      const unknown = { reason: "unknown_type", line: JSON.stringify(item) } as const;
      return { events: [{ type: "record.unknown", data: unknown, native }] };
    },
    delta(kind, params, atMs, native) {
      const { data } = Delta.safeParse(params);
      if (data === undefined) return [];
      hasItems = true;
      return texts.delta(kind, { itemId: data.itemId, delta: data.delta, part: data.summaryIndex, atMs }, native);
    },
    toolOutput(params, atMs, native) {
      const { data } = Delta.safeParse(params);
      return data === undefined ? [] : outputs.take(ids.nameOf(data.itemId), data.delta, atMs, native);
    },
    ask(request, native) {
      const { itemId } = request.params;
      const about =
        typeof itemId === "string"
          ? { item: items.get(itemId), name: ids.nameOf(itemId) }
          : { item: undefined, name: undefined };
      return asks.ask(request, about, native);
    },
    answer: (answered, native) => asks.answer(answered, native),
    discard: (reason, native) => texts.discard(reason, native),
    close(native) {
      const interrupted = tools.interrupt().map((event) => (native === undefined ? event : { ...event, native }));
      return [...texts.discard("ended", native), ...interrupted];
    },
    isBusy: () => !tools.isIdle() || !asks.isIdle(),
    hasAny: () => hasItems,
    output: () => output,
  };
}

const COMPACTED = "The CLI summarised the conversation to make room.";
