import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { createPieces, type Pieces } from "../../streaming/pieces.ts";

/** What running tools print, up to a limit each. Law: every wait is bounded. */
export interface ToolOutput {
  take(callId: string, delta: string, atMs: number | undefined, native: Native): TranslatedEvent[];
  /** The call has ended: its end has all of it. */
  end(callId: string): void;
}

/** Follows what tools print while they run. */
export function createToolOutput(maxBytes: number, holdBack: (text: string) => number): ToolOutput {
  const running = new Map<string, { readonly pieces: Pieces; bytes: number; isFull: boolean }>();
  return {
    take(callId, delta, atMs, native) {
      const output = running.get(callId) ?? { pieces: createPieces(holdBack), bytes: 0, isFull: false };
      running.set(callId, output);
      if (output.isFull) return [];
      const text = output.pieces.take(delta, atMs);
      output.bytes += Buffer.byteLength(delta);
      output.isFull = output.bytes > maxBytes;
      if (output.isFull) {
        const data = { tool_call_id: callId, text: text ?? "", mode: "append", truncated: true } as const;
        return [{ type: "tool.output", data, native }];
      }
      if (text === undefined) return [];
      return [{ type: "tool.output", data: { tool_call_id: callId, text, mode: "append" }, native }];
    },
    end: (callId) => void running.delete(callId),
  };
}
