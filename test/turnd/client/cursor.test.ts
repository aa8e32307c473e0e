import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readPosition, writePosition } from "../../../src/turnd/client/cursor.ts";
import { createSha256 } from "../../../src/turnd/client/sha256.ts";

test("a digest is SHA-256, whatever the pieces, and whenever its state was kept and taken up again", () => {
  const pieces = fc.array(fc.tuple(fc.uint8Array({ maxLength: 200 }), fc.boolean()), { maxLength: 20 });
  fc.assert(
    fc.property(pieces, (given) => {
      let hash = createSha256();
      const known = createHash("sha256");
      for (const [piece, isKept] of given) {
        hash.update(piece);
        known.update(piece);
        if (isKept) hash = createSha256(hash.save());
      }
      expect(hash.digest()).toBe(known.digest("hex"));
    }),
  );
});

test("every length around the borders of a block has the right padding", () => {
  for (let length = 0; length <= 200; length += 1) {
    const bytes = new Uint8Array(length).fill(length);
    const hash = createSha256();
    hash.update(bytes);
    expect(hash.digest()).toBe(createHash("sha256").update(bytes).digest("hex"));
  }
});

test("a cursor keeps its place and the digest of what came before it", () => {
  const { digest } = readPosition(undefined, true);
  digest?.update(new TextEncoder().encode("some lines\n".repeat(30)));
  const cursor = writePosition({ seq: 30, digest });
  const back = readPosition(cursor, true);
  expect(back.seq).toBe(30);
  expect(back.digest?.digest()).toBe(createHash("sha256").update("some lines\n".repeat(30)).digest("hex"));
  expect(cursor).toMatch(/^30\.[\w-]+$/);
});

test("a bare seq is a cursor that proves nothing, and the beginning one that will", () => {
  expect(readPosition(7, true)).toEqual({ seq: 7, digest: undefined });
  expect(readPosition("7", true)).toEqual({ seq: 7, digest: undefined });
  expect(readPosition(0, true).digest).toBeDefined();
  expect(readPosition(undefined, false)).toEqual({ seq: 0, digest: undefined });
});

test.each(["", "-1", "1.5", "07", "x", "3.", "3.AAAA", "3.!!", "9999999999999999", Number.NaN, -1, 1e21])(
  "%j is no cursor",
  (after) => {
    expect(() => readPosition(after, true)).toThrow(TypeError);
  },
);
