import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createKeyDerivation,
  keyIntentHash,
  sandboxToken,
  secretFingerprint,
  webhookSecret,
} from "../../../src/service/auth/derive.ts";

const SECRET = "kit-key-secret-0123456789abcdefgh";

test("a key's secret is that of the vector, of the documented form", () => {
  const secret = createKeyDerivation(SECRET).secretOf(1, "create-key-0001");
  expect(secret).toBe("svkey_324e24e0864b82a2c2bfaea0ca815cf47d9d85be115944f7");
  expect(secret).toHaveLength(54);
});

test("no two users and request ids have one secret, wherever their characters stand", () => {
  const { secretOf } = createKeyDerivation(SECRET);
  const id = fc.stringMatching(/^[A-Za-z0-9._:-]{8,64}$/);
  const user = fc.integer({ min: 1, max: 2_147_483_647 });
  fc.assert(
    fc.property(
      user,
      id,
      user,
      id,
      (userA, a, userB, b) => (userA === userB && a === b) === (secretOf(userA, a) === secretOf(userB, b)),
    ),
  );
  // What runs together without lengths: digits moved from the user to the id, and colons.
  fc.assert(
    fc.property(user, id, (who, what) => {
      const moved = String(who);
      if (moved.length < 2) return true;
      const [fewer, last] = [Number(moved.slice(0, -1)), moved.slice(-1)];
      return (
        secretOf(who, what) !== secretOf(fewer, `${last}${what}`) &&
        secretOf(who, `:${what}`) !== secretOf(who, `${what}:`)
      );
    }),
  );
});

test("the intent is name, expiry and user, each apart", () => {
  const base = { name: "a", expiresAt: new Date("2030-01-01T00:00:00Z"), userId: 1 };
  const hashes = [base, { ...base, name: "b" }, { ...base, expiresAt: null }, { ...base, userId: 2 }].map((intent) =>
    keyIntentHash(intent).toString("hex"),
  );
  expect(new Set(hashes).size).toBe(4);
  expect(keyIntentHash({ ...base, expiresAt: new Date("2030-01-01T01:00:00+01:00") }).equals(keyIntentHash(base))).toBe(
    true,
  );
});

test("tokens, webhook secrets and fingerprints differ by what they are for", () => {
  expect(sandboxToken("s".repeat(32), "id", 1)).not.toBe(sandboxToken("s".repeat(32), "id", 2));
  expect(webhookSecret("s".repeat(32), "id", 1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(secretFingerprint("a".repeat(32))).not.toBe(secretFingerprint("b".repeat(32)));
  expect("a".repeat(32)).not.toContain(secretFingerprint("a".repeat(32)));
});
