import fc from "fast-check";
import { expect, test } from "vitest";
import { createRing, wholeCharacters } from "../../../../src/turnd/daemon/terminal/ring.ts";

test("a ring holds the last bytes, whatever the chunks they came in", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 }),
      fc.integer({ min: 1, max: 50 }),
      (chunks, size) => {
        const ring = createRing(size);
        for (const chunk of chunks) ring.append(chunk);
        const all = Buffer.concat(chunks);
        expect(ring.next()).toBe(all.length);
        expect(ring.first()).toBe(Math.max(0, all.length - size));
        for (let offset = ring.first(); offset <= all.length; offset += 1) {
          expect(ring.read(offset, 7)).toEqual(all.subarray(offset, offset + 7));
        }
      },
    ),
  );
});

test.each([
  ["a line", "lost half\nnext line", "next line"],
  ["an escape sequence", "1;31mred\u001b[0m plain", "\u001b[0m plain"],
  ["a character", "…", ""],
  ["a sequence, not at what ends one", "title\u001b\\ rest\u001b[H", "\u001b[H"],
])("a reader who missed output begins at the start of %s", (_, text, start) => {
  const bytes = Buffer.from(text);
  const ring = createRing(bytes.length - 1);
  ring.append(bytes);
  const shown = ring.read(ring.start(), 1_000).toString("utf8");
  expect(shown).toBe(start === "" ? bytes.subarray(1).toString("utf8") : start);
});

test("a reader who missed nothing begins at the beginning", () => {
  const ring = createRing(100);
  ring.append(Buffer.from("\nfirst"));
  expect(ring.start()).toBe(0);
});

test("text is cut between characters, and what is none is not held back", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(), (text, cut) => {
      const bytes = Buffer.from(text).subarray(0, cut % (Buffer.byteLength(text) + 1));
      const whole = wholeCharacters(bytes);
      expect(text.startsWith(bytes.subarray(0, whole).toString("utf8"))).toBe(true);
      expect(bytes.length - whole).toBeLessThan(4);
    }),
  );
  expect(wholeCharacters(Buffer.from([0x80, 0x80, 0x80, 0x80]))).toBe(4);
  expect(wholeCharacters(Buffer.from([0x41, 0xff, 0x42]))).toBe(3);
});
