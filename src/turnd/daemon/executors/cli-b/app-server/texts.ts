import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { createPieces, type Pieces } from "../../streaming/pieces.ts";
import type { TextItem } from "./items.ts";

type Kind = "message" | "reasoning";

interface OpenText {
  readonly id: string;
  readonly kind: Kind;
  readonly pieces: Pieces;
  /** Of a reasoning that comes in parts: which one its last piece belongs to. */
  part: number;
}

/** What a delta says of a text. */
export interface TextDelta {
  readonly itemId: string;
  readonly delta: string;
  /** Which part of a reasoning it belongs to. */
  readonly part: number;
  readonly atMs: number | undefined;
}

/** The texts of one turn that are being written, and those that were withdrawn. */
export interface Texts {
  delta(kind: Kind, delta: TextDelta, native: Native): TranslatedEvent[];
  /** The text is whole. */
  complete(item: TextItem, native: Native): TranslatedEvent[];
  /** What is being written will not be completed. */
  discard(reason: "retry" | "steer" | "ended", native?: Native): TranslatedEvent[];
  isIdle(): boolean;
}

/** Between the parts of a reasoning, in the text as a whole. */
const BETWEEN_PARTS = "\n\n";

/** Follows the texts of a turn. Ids of the provider's are not unique: each start of one has an id of its own. */
export function createTexts(holdBack: (text: string) => number): Texts {
  const open = new Map<string, OpenText>();
  const starts = new Map<string, number>();

  function begin(itemId: string, kind: Kind): OpenText {
    const known = open.get(itemId);
    if (known !== undefined) return known;
    const count = (starts.get(itemId) ?? 0) + 1;
    starts.set(itemId, count);
    const text = { id: count === 1 ? itemId : `${itemId}#${count}`, kind, pieces: createPieces(holdBack), part: 0 };
    open.set(itemId, text);
    return text;
  }

  function show({ id, kind }: OpenText, text: string | undefined, native: Native): TranslatedEvent[] {
    if (text === undefined) return [];
    return [{ type: `${kind}.delta`, data: { message_id: id, text }, native }];
  }

  return {
    delta(kind, { itemId, delta, part, atMs }, native) {
      if (delta === "") return [];
      const text = begin(itemId, kind);
      const between = part === text.part ? "" : BETWEEN_PARTS;
      text.part = part;
      return show(text, text.pieces.take(`${between}${delta}`, atMs), native);
    },
    complete(item, native) {
      const kind = item.type === "reasoning" ? "reasoning" : "message";
      const whole = wholeText(item);
      const text = begin(item.id, kind);
      open.delete(item.id);
      if (whole === "") return text.pieces.text() === "" ? [] : withdraw([text], "ended", native);
      const rest = text.pieces.text() === "" ? [] : show(text, text.pieces.rest(), native);
      const data = { message_id: text.id, text: whole };
      if (kind === "reasoning") return [...rest, { type: "reasoning", data, native }];
      const isFinal = item.type === "agentMessage" && item.phase === "final_answer";
      return [...rest, { type: "message", data: { ...data, ...(isFinal ? { final: true } : {}) }, native }];
    },
    discard(reason, native) {
      const texts = [...open.values()];
      open.clear();
      return withdraw(texts, reason, native);
    },
    isIdle: () => open.size === 0,
  };
}

/** Of a text of which nothing was shown there is nothing to withdraw. */
function withdraw(
  texts: readonly OpenText[],
  reason: "retry" | "steer" | "ended",
  native: Native | undefined,
): TranslatedEvent[] {
  return texts
    .filter(({ pieces }) => pieces.text() !== "")
    .map(({ id }) => ({
      type: "message.discarded",
      data: { message_id: id, reason },
      ...(native === undefined ? {} : { native }),
    }));
}

function wholeText(item: TextItem): string {
  if (item.type !== "reasoning") return item.text;
  return (item.summary.length > 0 ? item.summary : item.content).join(BETWEEN_PARTS);
}
