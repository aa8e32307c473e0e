import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";

/** What running tools print, up to a limit each. Law: every wait is bounded. */
export interface ToolOutput {
  /** @param whole - all of it so far, or its end where it is long */
  take(callId: string, whole: string, native: Native): TranslatedEvent[];
  /** The call has ended: its end has all of it. */
  end(callId: string): void;
}

interface Shown {
  text: string;
  bytes: number;
  isFull: boolean;
}

/** Follows what tools print while they run. The server says all of it again each time, and of a long output the last 30 KB. */
export function createToolOutput(maxBytes: number, holdBack: (text: string) => number): ToolOutput {
  const running = new Map<string, Shown>();
  return {
    take(callId, whole, native) {
      const shown = running.get(callId) ?? { text: "", bytes: 0, isFull: false };
      running.set(callId, shown);
      if (shown.isFull) return [];
      const isLonger = whole.startsWith(shown.text);
      const added = isLonger ? whole.slice(shown.text.length) : whole;
      // Its end may be the beginning of a secret. Law: keys travel aside.
      const text = added.slice(0, added.length - holdBack(added));
      if (text === "") return [];
      shown.text = isLonger ? shown.text + text : text;
      shown.bytes += Buffer.byteLength(text);
      shown.isFull = shown.bytes > maxBytes;
      const mode = isLonger ? "append" : "replace";
      const data = { tool_call_id: callId, text: shown.isFull ? "" : text, mode } as const;
      if (!shown.isFull) return [{ type: "tool.output", data, native }];
      return [{ type: "tool.output", data: { ...data, mode: "append", truncated: true }, native }];
    },
    end: (callId) => void running.delete(callId),
  };
}
