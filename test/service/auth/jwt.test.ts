import { afterEach, expect, test, vi } from "vitest";
import { createTokens } from "../../../src/service/auth/jwt.ts";

const TTL_MS = 60_000;
const tokens = createTokens("a test needs a secret of 32 characters", TTL_MS);

afterEach(() => {
  vi.useRealTimers();
});

test("a token that was valid is refused once it has expired, however often it was checked", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const token = await tokens.sign({ userId: 7, epoch: 3 });
  for (let check = 0; check < 3; check += 1) expect(await tokens.verify(token)).toEqual({ userId: 7, epoch: 3 });
  vi.setSystemTime(Date.now() + TTL_MS);
  expect(await tokens.verify(token)).toBeUndefined();
});

test("a cached check of a token holds for no other token", async () => {
  const token = await tokens.sign({ userId: 7, epoch: 3 });
  expect(await tokens.verify(token)).toBeDefined();
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
  const forged = Buffer.from(JSON.stringify(Object.assign({}, claims, { sub: "1" }))).toString("base64url");
  const unsigned = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  for (const other of [`${header}.${forged}.${signature}`, `${unsigned}.${payload}.`, `${token}x`, token.slice(0, -2)])
    expect(await tokens.verify(other), other).toBeUndefined();
  expect(await createTokens("another secret of 32 characters here", TTL_MS).verify(token)).toBeUndefined();
});
