import fc from "fast-check";
import { expect, test } from "vitest";
import {
  createKeyDerivation,
  keyIntentHash,
  sandboxToken,
  secretFingerprint,
  webhookSecret,
  type HashedIntent,
} from "../../../src/service/auth/derive.ts";

const SECRET = "kit-key-secret-0123456789abcdefgh";

const UID = "7e57a11d-0000-4000-8000-000000000001";

test("a key's secret is that of its version's vector, of the documented form", () => {
  const { secretOf, secretOfVersion1 } = createKeyDerivation(SECRET);
  expect(secretOfVersion1(1, "create-key-0001")).toBe("svkey_324e24e0864b82a2c2bfaea0ca815cf47d9d85be115944f7");
  expect(secretOf(UID)).toBe("svkey_c2aa5f138252ab3a5628036a94440eb8d2a07252b20ea421");
  expect(secretOf(UID)).toMatch(/^svkey_[0-9a-f]{48}$/);
});

test("no two keys have one secret, of whichever version", () => {
  const { secretOf, secretOfVersion1 } = createKeyDerivation(SECRET);
  const id = fc.stringMatching(/^[A-Za-z0-9._:-]{8,64}$/);
  const user = fc.integer({ min: 1, max: 2_147_483_647 });
  fc.assert(fc.property(fc.uuid(), fc.uuid(), (a, b) => (a === b) === (secretOf(a) === secretOf(b))));
  fc.assert(
    fc.property(
      user,
      id,
      user,
      id,
      (userA, a, userB, b) =>
        (userA === userB && a === b) === (secretOfVersion1(userA, a) === secretOfVersion1(userB, b)),
    ),
  );
  // What runs together without lengths: digits moved from the user to the id, and colons.
  fc.assert(
    fc.property(user, id, (who, what) => {
      const moved = String(who);
      if (moved.length < 2) return true;
      const [fewer, last] = [Number(moved.slice(0, -1)), moved.slice(-1)];
      return (
        secretOfVersion1(who, what) !== secretOfVersion1(fewer, `${last}${what}`) &&
        secretOfVersion1(who, `:${what}`) !== secretOfVersion1(who, `${what}:`)
      );
    }),
  );
});

test("the intent is name, expiry, user, department and quota, each apart", () => {
  const base = { name: "a", expiresAt: new Date("2030-01-01T00:00:00Z"), userId: 1 };
  const hash = (more: Partial<HashedIntent>) => keyIntentHash({ ...base, ...more }).toString("hex");
  const others = [
    { name: "b" },
    { expiresAt: null },
    { userId: 2 },
    { departmentId: 1 },
    { quota: { runs_per_day: 1 } },
    { quota: { tokens_per_day: 1 } },
    { quota: { active_runs: 1 } },
  ];
  expect(new Set([{}, ...others].map(hash)).size).toBe(1 + others.length);
  for (const same of [{ expiresAt: new Date("2030-01-01T01:00:00+01:00") }, { departmentId: null }, { quota: {} }])
    expect(hash(same)).toBe(hash({}));
});

test("tokens, webhook secrets and fingerprints differ by what they are for", () => {
  expect(sandboxToken("s".repeat(32), "id", 1)).not.toBe(sandboxToken("s".repeat(32), "id", 2));
  expect(webhookSecret("s".repeat(32), "id", 1)).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(secretFingerprint("a".repeat(32))).not.toBe(secretFingerprint("b".repeat(32)));
  expect("a".repeat(32)).not.toContain(secretFingerprint("a".repeat(32)));
});
