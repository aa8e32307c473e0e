import { describe, expect, test } from "vitest";
import { createPieces } from "../../../../../src/turnd/daemon/executors/streaming/pieces.ts";
import { createHoldBack } from "../../../../../src/turnd/daemon/event-log/redact.ts";

const nothing = (): number => 0;

describe("a text that comes in pieces", () => {
  test("is shown at once, then at a pace, and whole", () => {
    const pieces = createPieces(nothing);
    expect(pieces.take("Hel", 1_000)).toBe("Hel");
    expect(pieces.take("lo ", 1_010)).toBeUndefined();
    expect(pieces.take("you", 1_050)).toBe("lo you");
    expect(pieces.take(".", 1_055)).toBeUndefined();
    expect(pieces.rest()).toBe(".");
    expect(pieces.rest()).toBeUndefined();
    expect(pieces.text()).toBe("Hello you.");
  });

  test("of 50 000 pieces in two seconds becomes few events", () => {
    const pieces = createPieces(nothing);
    const shown: string[] = [];
    for (let index = 0; index < 50_000; index += 1) {
      const text = pieces.take("12345678", index * 0.04);
      if (text !== undefined) shown.push(text);
    }
    shown.push(pieces.rest() ?? "");
    expect(shown.length).toBeLessThan(40);
    expect(shown.join("")).toBe("12345678".repeat(50_000));
  });

  // Law: keys travel aside.
  test("never has a secret in two events, wherever it is cut", () => {
    const secret = "sk-FAKE-0123456789";
    const text = `The key is ${secret}, and so it is sk-FA.`;
    for (let size = 1; size <= secret.length; size += 1) {
      const pieces = createPieces(createHoldBack([secret]));
      const shown: string[] = [];
      for (let at = 0; at < text.length; at += size) {
        const next = pieces.take(text.slice(at, at + size), at * 1_000);
        if (next !== undefined) shown.push(next);
      }
      shown.push(pieces.rest() ?? "");
      expect(shown.join("")).toBe(text);
      expect(shown.filter((piece) => piece.includes(secret))).toHaveLength(1);
    }
  });
});
