import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { hashRequest } from "../../../../../src/turnd/daemon/turns/admission/request-hash.ts";

/** JSON with its keys in the order of their texts. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  const sorted = entries.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(",")}}`;
}

const LONG = "A".repeat(70_000);
const long = fc.constantFrom(LONG, `${LONG}"`, `${LONG}\\`, `${LONG}\n`, `${LONG}é`, `${LONG}\u007f`, `${LONG}\ud800`);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.jsonValue(),
    fc.constant(undefined),
    long,
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.string(), tie("value"), { maxKeys: 4 }),
  ),
}));

test("a request's hash is the SHA-256 of its JSON with the keys in order, images and other long texts included", () => {
  fc.assert(
    fc.property(fc.record({ input: value, mode: value }), (request) => {
      expect(hashRequest(request)).toBe(createHash("sha256").update(canonical(request)).digest("hex"));
    }),
  );
});
