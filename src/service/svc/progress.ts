import type { Terminal } from "../../kit/command-line/terminal.ts";
import { cutToWidth } from "../../kit/command-line/text.ts";

const REDRAW_MS = 100;
const BAR = 20;

/** A bar that shows how far something is. */
export interface ProgressBar {
  /** @param share - 0 to 1; what is not is taken as its nearer end */
  show(share: number, text: string): void;
  end(): void;
}

/** Draws at most ten times a second, and nothing without a terminal. */
export function createProgressBar(terminal: Terminal): ProgressBar {
  let drawnAt = 0;
  return {
    show(share, text) {
      const now = performance.now();
      if (now - drawnAt < REDRAW_MS) return;
      drawnAt = now;
      terminal.drawStatus(drawBar(share, text, terminal.columns));
    },
    end: () => terminal.clearStatus(),
  };
}

/** One line, never wider than the terminal: a longer one would leave its first half behind at every redraw. */
export function drawBar(share: number, text: string, columns: number): string {
  const bounded = Math.min(1, Math.max(0, Number.isFinite(share) ? share : 0));
  const full = Math.round(bounded * BAR);
  const head = `[${"#".repeat(full)}${"-".repeat(BAR - full)}] ${String(Math.floor(bounded * 100)).padStart(3)} % `;
  return `${head}${cutToWidth(text, columns - 1 - head.length)}`;
}
