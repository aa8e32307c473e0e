import { sql } from "kysely";
import { expect, test } from "vitest";
import { deleteExpiredLogins } from "../../../src/service/auth/sweep.ts";
import { call, testApp } from "../harness/app.ts";
import { makeUser, PASSWORD, testAuth } from "../harness/auth.ts";
import { freshStorage, shareStorage } from "../harness/storage.ts";

const HOME = "2001:db8:aaaa:1::7";
/** Every one of another network. */
const elsewhere = (network: number) => `2001:db8:${network.toString(16)}:9::1`;

const storage = shareStorage("postgres");

async function register(limits: Parameters<typeof testAuth>[1]) {
  const auth = testAuth(storage(), limits);
  const root = await makeUser(storage(), { role: "superadmin" });
  const username = `n${crypto.randomUUID().slice(0, 8)}`;
  const user = await auth.accounts.create(root, { username, password: PASSWORD, role: "user", display_name: "" });
  /** `in`, or why not. */
  const logIn = (ip: string, password = PASSWORD): Promise<string> =>
    auth.logins.logIn({ username, password }, ip).then(
      () => "in",
      (error: { code: string }) => error.code,
    );
  return { ...auth, root, user, username, logIn, guess: (ip: string) => logIn(ip, "wrong wrong") };
}

/** As if so much time had passed. */
const pass = (seconds: number) =>
  sql`update login_failure set window_ends_at = window_ends_at - ${seconds}::int * interval '1 second'`.execute(
    storage().db,
  );

test("all addresses of a /64 are locked together, and no other", async () => {
  const { logIn, guess } = await register({ perName: 2 });
  expect([await guess("2001:db8:5:6::1"), await guess("2001:db8:5:6:ffff::2")]).toEqual([
    "invalid_credentials",
    "invalid_credentials",
  ]);
  expect(await logIn("2001:db8:5:6:1:2:3:4")).toBe("login_locked");
  expect(await logIn("2001:db8:5:7::1")).toBe("in");
});

test("whoever changes addresses is locked out of a name, slowly, and its user not where the user has been", async () => {
  const { logIn, guess, logins, username } = await register({ perName: 2, perNameInDay: 4 });
  expect(await logIn(HOME)).toBe("in");
  for (let network = 1; network <= 4; network += 1) expect(await guess(elsewhere(network))).toBe("invalid_credentials");
  for (const ip of [elsewhere(5), elsewhere(1)]) expect(await guess(ip)).toBe("login_locked");
  // The right password, too: the answer must not say that it was right.
  const refused = await logins.logIn({ username, password: PASSWORD }, elsewhere(6)).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "login_locked" });
  const left = (refused as { retryAfterSeconds: number }).retryAfterSeconds;
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(86_400 / 4);
  expect([await logIn(HOME), await logIn(HOME.replace("::7", "::8"))]).toEqual(["in", "in"]);
  // A quarter of the day lets one through; who takes it decides nothing for the next.
  await pass(left);
  expect([await guess(elsewhere(7)), await guess(elsewhere(8))]).toEqual(["invalid_credentials", "login_locked"]);
  await pass(86_400 / 4);
  expect(await logIn(elsewhere(9))).toBe("in");
  expect(await logIn(elsewhere(9))).toBe("in");
  // At home the limit of one address holds as before.
  expect([await guess(HOME), await guess(HOME), await logIn(HOME)]).toEqual([
    "invalid_credentials",
    "invalid_credentials",
    "login_locked",
  ]);
});

test("a name that no user has is locked like any other", async () => {
  const { logins } = testAuth(storage(), { perName: 2, perNameInDay: 2 });
  const guess = (network: number) =>
    logins.logIn({ username: "no-such-user", password: PASSWORD }, elsewhere(network)).catch(({ code }) => code);
  expect([await guess(1), await guess(2), await guess(3)]).toEqual([
    "invalid_credentials",
    "invalid_credentials",
    "login_locked",
  ]);
});

test("a password that a manager sets ends the locks, and with it no address is known any more", async () => {
  const { logIn, guess, accounts, root, user } = await register({ perName: 2, perNameInDay: 1 });
  expect(await logIn(HOME)).toBe("in");
  expect([await guess(elsewhere(1)), await guess(elsewhere(2))]).toEqual(["invalid_credentials", "login_locked"]);
  await accounts.update(root, user.id, { password: "another one" });
  expect(await logIn(elsewhere(3), "another one")).toBe("in");
  expect(await guess(elsewhere(4))).toBe("invalid_credentials");
  expect([await logIn(HOME, "another one"), await logIn(elsewhere(3), "another one")]).toEqual(["login_locked", "in"]);
});

test("an address is forgotten after three months", async () => {
  const { logIn, guess, user } = await register({ perNameInDay: 1 });
  expect(await logIn(HOME)).toBe("in");
  await storage()
    .db.updateTable("login_address")
    .set({ last_at: sql<Date>`now() - interval '91 days'` })
    .where("user_id", "=", user.id)
    .execute();
  expect([await guess(elsewhere(1)), await logIn(HOME)]).toEqual(["invalid_credentials", "login_locked"]);
  await deleteExpiredLogins(storage());
  const rows = await storage().db.selectFrom("login_address").selectAll().where("user_id", "=", user.id).execute();
  expect(rows).toEqual([]);
});

test("calls without a credential are counted by the /64", async () => {
  const app = await testApp(await freshStorage("postgres"), { ratePerAddress: 2, trustedProxies: 1 });
  const ask = async (ip: string) =>
    (await call(app, "GET", "/api/auth/me", undefined, { token: "wrong", headers: { "x-forwarded-for": ip } })).status;
  expect([await ask("2001:db8:5:6::1"), await ask("2001:db8:5:6::2"), await ask("2001:db8:5:6:7::3")]).toEqual([
    401, 401, 429,
  ]);
  expect([await ask("2001:db8:5:7::1"), await ask("192.0.2.1")]).toEqual([401, 401]);
});
