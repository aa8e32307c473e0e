import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { createPieces, type Pieces } from "../../streaming/pieces.ts";

export type TextKind = "message" | "reasoning";

interface OpenText {
  readonly kind: TextKind;
  readonly pieces: Pieces;
  shown: string;
  /** Pieces of it are lost: no more of it is shown before all of it is there. */
  isBroken: boolean;
}

/** The texts that are being written in one session. */
export interface Texts {
  /** A part has begun. */
  begin(partId: string, kind: TextKind): void;
  delta(partId: string, delta: string, atMs: number | undefined, native: Native): TranslatedEvent[];
  /** The text is whole. */
  complete(partId: string, kind: TextKind, whole: string, native: Native): TranslatedEvent[];
  /** What is being written will not be completed. */
  discard(reason: "retry" | "ended", native?: Native): TranslatedEvent[];
  /** The stream had broken off. */
  interrupt(): void;
}

/** Follows the texts of one session. */
export function createTexts(holdBack: (text: string) => number): Texts {
  const open = new Map<string, OpenText>();

  function show(id: string, text: OpenText, piece: string | undefined, native: Native): TranslatedEvent[] {
    if (piece === undefined || piece === "") return [];
    text.shown += piece;
    return [{ type: `${text.kind}.delta`, data: { message_id: id, text: piece }, native }];
  }

  return {
    begin(partId, kind) {
      if (!open.has(partId)) open.set(partId, { kind, pieces: createPieces(holdBack), shown: "", isBroken: false });
    },
    delta(partId, delta, atMs, native) {
      const text = open.get(partId);
      if (text === undefined || text.isBroken || delta === "") return [];
      return show(partId, text, text.pieces.take(delta, atMs), native);
    },
    complete(partId, kind, whole, native) {
      const text = open.get(partId);
      open.delete(partId);
      const shown = text?.shown ?? "";
      const isShown = whole.startsWith(shown);
      const events: TranslatedEvent[] = [];
      if (!isShown || whole === "") events.push(...(shown === "" ? [] : [discarded(partId, "ended", native)]));
      if (whole === "") return events;
      if (isShown && shown !== "" && text !== undefined)
        events.push(...show(partId, text, whole.slice(shown.length), native));
      // What was withdrawn has an id of its own.
      const id = isShown ? partId : `${partId}#2`;
      return [...events, { type: kind, data: { message_id: id, text: whole }, native }];
    },
    discard(reason, native) {
      const shown = [...open].filter(([, text]) => text.shown !== "");
      open.clear();
      return shown.map(([id]) => discarded(id, reason, native));
    },
    interrupt() {
      for (const text of open.values()) text.isBroken = true;
    },
  };
}

function discarded(id: string, reason: "retry" | "ended", native: Native | undefined): TranslatedEvent {
  return { type: "message.discarded", data: { message_id: id, reason }, ...(native === undefined ? {} : { native }) };
}
