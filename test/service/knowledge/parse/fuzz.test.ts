import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import { normalise } from "../../../../src/service/knowledge/parse/normalise.ts";
import { ParseFailed } from "../../../../src/service/knowledge/parse/failures.ts";
import { DOCUMENTS, readHere } from "./harness.ts";

/** Older formats start LibreOffice for each, seconds that prove nothing about what is ours. */
const SLOW = /\.(odt|odp|doc|ppt|rtf|png|jpg)$/;
const RUNS = 4;

interface Mutation {
  readonly kind: "flip" | "cut" | "repeat" | "zero";
  readonly at: number;
  readonly length: number;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  kind: fc.constantFrom("flip", "cut", "repeat", "zero"),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  length: fc.integer({ min: 1, max: 2_000 }),
});

function mutate(bytes: Buffer, { kind, at, length }: Mutation): Buffer {
  const from = Math.floor(bytes.length * at);
  const [before, piece, after] = [
    bytes.subarray(0, from),
    bytes.subarray(from, from + length),
    bytes.subarray(from + length),
  ];
  switch (kind) {
    case "flip":
      return Buffer.concat([before, piece.map((byte, index) => (index % 97 === 0 ? byte ^ 0x55 : byte)), after]);
    case "cut":
      return Buffer.concat([before, after]);
    case "repeat":
      return Buffer.concat([before, piece, piece, piece, after]);
    case "zero":
      return Buffer.concat([before, Buffer.alloc(piece.length), after]);
  }
}

const names = (await readdir(DOCUMENTS)).filter(
  (name) => /\.[a-z]+$/.test(name) && name !== "facts.json" && !SLOW.test(name),
);

test.each(names)("%s, damaged, ends in a code or is read, and the next file is as it was", async (name) => {
  const bytes = await readFile(join(DOCUMENTS, name));
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 5 }), async (mutations) => {
      const result = await readHere(name, mutations.reduce(mutate, bytes));
      if (!(result instanceof ParseFailed)) expect(normalise(result)).toBe(result);
      expect(await readHere("next.txt", Buffer.from("next"))).toBe("next\n");
    }),
    { numRuns: RUNS, seed: 20_261_122, endOnFailure: true },
  );
});
