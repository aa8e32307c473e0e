import { SignJWT } from "jose";
import { afterEach, expect, test, vi } from "vitest";
import { createTokens } from "../../../src/service/auth/jwt.ts";

const SECRET = "a test needs a secret of 32 characters";
const TTL_MS = 60_000;
const UID = "7e57a11d-0000-4000-8000-000000000007";
const OTHER = "7e57a11d-0000-4000-8000-000000000001";
const tokens = createTokens(SECRET, TTL_MS);

afterEach(() => {
  vi.useRealTimers();
});

test("a token that was valid is refused once it has expired, however often it was checked", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const token = await tokens.sign({ uid: UID, epoch: 3 });
  for (let check = 0; check < 3; check += 1) expect(await tokens.verify(token)).toEqual({ uid: UID, epoch: 3 });
  vi.setSystemTime(Date.now() + TTL_MS);
  expect(await tokens.verify(token)).toBeUndefined();
});

test("a cached check of a token holds for no other token", async () => {
  const token = await tokens.sign({ uid: UID, epoch: 3 });
  expect(await tokens.verify(token)).toBeDefined();
  const [header = "", payload = "", signature = ""] = token.split(".");
  const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
  const forged = Buffer.from(JSON.stringify(Object.assign({}, claims, { sub: OTHER }))).toString("base64url");
  const unsigned = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  for (const other of [`${header}.${forged}.${signature}`, `${unsigned}.${payload}.`, `${token}x`, token.slice(0, -2)])
    expect(await tokens.verify(other), other).toBeUndefined();
  expect(await createTokens("another secret of 32 characters here", TTL_MS).verify(token)).toBeUndefined();
});

test("a signed token is refused for each claim that none of ours has", async () => {
  const sign = (claims: Readonly<Record<string, unknown>>) =>
    new SignJWT({ iss: "svc", aud: "svc", sub: UID, epoch: 3, jti: "j", iat: 1, exp: 4_000_000_000, ...claims })
      .setProtectedHeader({ alg: "HS256" })
      .sign(Buffer.from(SECRET));
  expect(await tokens.verify(await sign({}))).toEqual({ uid: UID, epoch: 3 });
  for (const claims of [
    { epoch: 2 ** 31 },
    { epoch: -(2 ** 31) - 1 },
    { epoch: 2 ** 53 },
    { epoch: 1e300 },
    { epoch: 0.5 },
    { epoch: "3" },
    { sub: "7" },
    { sub: "9999999999" },
    { sub: "" },
    { sub: `${UID}0` },
    { exp: 1 },
    { exp: "soon" },
    { iss: "another" },
    { aud: "another" },
    { nbf: 1e300 },
    { jti: 7 },
  ])
    expect(await tokens.verify(await sign(claims)), JSON.stringify(claims)).toBeUndefined();
});
