import { sql } from "kysely";
import { expect, test } from "vitest";
import { ApiProblem } from "../../../src/service/protocol/problems.ts";
import { listAudit } from "../../../src/service/auth/audit.ts";
import { resetPassword } from "../../../src/service/auth/reset-password.ts";
import { makeUser, PASSWORD, testAuth } from "../harness/auth.ts";
import { freshStorage, shareStorage } from "../harness/storage.ts";

const storage = shareStorage("postgres");

test("the first account is made once, with the token where one is set", async () => {
  const own = await freshStorage("postgres");
  const { logins } = testAuth(own, { initToken: "let-me-in" });
  const body = { username: "root", password: PASSWORD };
  expect(await logins.isFirstRun()).toBe(true);
  await expect(logins.initialize(body, null)).rejects.toMatchObject({ code: "init_token_invalid" });
  const results = await Promise.allSettled(
    [1, 2, 3].map(() => logins.initialize({ ...body, init_token: "let-me-in" }, null)),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(results.find(({ status }) => status === "rejected")).toMatchObject({
    reason: { code: "already_initialized" },
  });
  expect(await logins.isFirstRun()).toBe(false);
  const { token, user } = await logins.logIn({ username: "ROOT", password: PASSWORD }, "127.0.0.1");
  expect(user).toMatchObject({ username: "root", role: "superadmin" });
  expect(await testAuth(own).credentials.authenticate(`Bearer ${token}`)).toMatchObject({ username: "root" });
});

test("a changed password, a logout and a disabled account end all tokens", async () => {
  const { accounts, logins, credentials } = testAuth(storage());
  const root = await makeUser(storage(), { role: "superadmin" });
  const user = await accounts.create(root, { username: "anna", password: PASSWORD, role: "user", display_name: "" });
  const logIn = (password = PASSWORD) => logins.logIn({ username: "anna", password }, "127.0.0.1");
  const works = (token: string) =>
    credentials.authenticate(`Bearer ${token}`).then(
      () => true,
      () => false,
    );
  const first = await logIn();
  const actor = { caller: await credentials.authenticate(`Bearer ${first.token}`), ip: "127.0.0.1" };
  await expect(
    logins.changePassword(actor, { old_password: "wrong wrong", new_password: "another one" }),
  ).rejects.toMatchObject({ code: "invalid_credentials" });
  const changed = await logins.changePassword(actor, { old_password: PASSWORD, new_password: "another one" });
  expect([await works(first.token), await works(changed.token)]).toEqual([false, true]);
  await logins.logOut(actor);
  expect(await works(changed.token)).toBe(false);
  const third = await logIn("another one");
  await accounts.update(root, user.id, { is_enabled: false });
  expect(await works(third.token)).toBe(false);
  await expect(logIn("another one")).rejects.toMatchObject({ code: "invalid_credentials" });
  await accounts.update(root, user.id, { is_enabled: true });
  expect(await works(third.token)).toBe(false);
  await accounts.remove(root, user.id);
  await expect(accounts.get(root, user.id)).rejects.toMatchObject({ code: "user_not_found" });
  expect(
    (await accounts.create(root, { username: "anna", password: PASSWORD, role: "user", display_name: "" })).id,
  ).not.toBe(user.id);
});

test("a wrong old password is written down, and so is a lock; a change that another overtook is refused", async () => {
  const { accounts, logins, credentials } = testAuth(storage(), { perName: 2 });
  const root = await makeUser(storage(), { role: "superadmin" });
  const username = `p${crypto.randomUUID().slice(0, 8)}`;
  const user = await accounts.create(root, { username, password: PASSWORD, role: "user", display_name: "" });
  const { token } = await logins.logIn({ username, password: PASSWORD }, "127.0.0.1");
  const actor = { caller: await credentials.authenticate(`Bearer ${token}`), ip: "10.0.0.7" };
  const change = (old_password: string, new_password = "another one") =>
    logins.changePassword(actor, { old_password, new_password });
  const entries = async () =>
    (await listAudit(storage().db, { subject: `user:${user.id}`, limit: 10 }))
      .filter(({ ip }) => ip === "10.0.0.7")
      .map(({ action, actor_id }) => [action, actor_id]);
  await expect(change("wrong wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
  expect(await entries()).toEqual([["password.refused", user.id]]);
  await storage().db.deleteFrom("login_failure").execute();
  const both = await Promise.allSettled([change(PASSWORD, "the first one"), change(PASSWORD, "the other one")]);
  expect(both.filter(({ status }) => status === "rejected")).toMatchObject([
    { reason: { code: "invalid_credentials" } },
  ]);
  await storage().db.updateTable("login_failure").set({ failures: 9 }).execute();
  for (const _ of [1, 2]) await expect(change("wrong wrong")).rejects.toBeInstanceOf(ApiProblem);
  await expect(change("wrong wrong")).rejects.toMatchObject({ code: "login_locked" });
  expect((await entries()).map(([action]) => action)[0]).toBe("login.locked");
});

test("a reset ends tokens and locks and is written down; keys stay, and an unknown user is named", async () => {
  const { accounts, logins, credentials, keys } = testAuth(storage(), { perName: 1 });
  const root = await makeUser(storage(), { role: "superadmin" });
  const username = `r${crypto.randomUUID().slice(0, 8)}`;
  const user = await accounts.create(root, { username, password: PASSWORD, role: "user", display_name: "" });
  const { token } = await logins.logIn({ username, password: PASSWORD }, "10.0.0.8");
  const caller = await credentials.authenticate(`Bearer ${token}`);
  const made = await keys.create(
    { caller, ip: null },
    { userId: user.id, requestId: "create-key-0001", name: "k", expiresAt: null, source: "api" },
  );
  await expect(logins.logIn({ username, password: "wrong wrong" }, "10.0.0.8")).rejects.toThrow(ApiProblem);
  await expect(logins.logIn({ username, password: PASSWORD }, "10.0.0.8")).rejects.toMatchObject({
    code: "login_locked",
  });
  const given = { username: username.toUpperCase(), password: "reset by hand" };
  expect(await resetPassword(storage(), given)).toEqual({ isEnabled: true });
  await expect(credentials.authenticate(`Bearer ${token}`)).rejects.toMatchObject({ code: "unauthorized" });
  expect(await credentials.authenticate(`Bearer ${made.secret}`)).toMatchObject({ userId: user.id });
  expect((await logins.logIn({ username, password: "reset by hand" }, "10.0.0.8")).user.id).toBe(user.id);
  const entries = await listAudit(storage().db, { subject: `user:${user.id}`, limit: 10 });
  expect(entries.filter(({ action }) => action === "password.reset")).toMatchObject([
    { actor_id: null, credential: "none", details: { by: "command_line" } },
  ]);
  expect(JSON.stringify(entries)).not.toContain("reset by hand");
  await expect(resetPassword(storage(), { username: "unknown", password: PASSWORD })).rejects.toMatchObject({
    code: "user_not_found",
  });
  await expect(resetPassword(storage(), { username, password: username })).rejects.toMatchObject({
    code: "password_invalid",
  });
});

test("an expired token, one of another secret and one without a signature are refused", async () => {
  const { accounts, logins } = testAuth(storage(), { jwtTtlMs: -1_000 });
  const root = await makeUser(storage(), { role: "superadmin" });
  await accounts.create(root, { username: "late", password: PASSWORD, role: "user", display_name: "" });
  const { token } = await logins.logIn({ username: "late", password: PASSWORD }, "127.0.0.1");
  const { credentials } = testAuth(storage());
  const [, payload] = token.split(".");
  const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
  for (const wrong of [token, none, `${token}x`]) {
    await expect(credentials.authenticate(`Bearer ${wrong}`)).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("after the failures that are allowed a login is locked, the right password too, others not", async () => {
  const { accounts, logins } = testAuth(storage(), { perName: 3 });
  const root = await makeUser(storage(), { role: "superadmin" });
  for (const username of ["berta", "carla"])
    await accounts.create(root, { username, password: PASSWORD, role: "user", display_name: "" });
  const logIn = (username: string, password: string, ip = "10.0.0.1") => logins.logIn({ username, password }, ip);
  // All at once: only those that are being checked pass the limit.
  const guesses = await Promise.allSettled(Array.from({ length: 12 }, () => logIn("berta", "wrong wrong")));
  const codes = guesses.map((guess) => (guess.status === "rejected" ? guess.reason.code : "in"));
  expect(codes.filter((code) => code === "invalid_credentials").length).toBeLessThanOrEqual(4);
  expect(codes).toContain("login_locked");
  await expect(logIn("berta", PASSWORD)).rejects.toMatchObject({
    code: "login_locked",
    retryAfterSeconds: expect.any(Number),
  });
  expect((await logIn("carla", PASSWORD)).user.username).toBe("carla");
  expect((await logIn("berta", PASSWORD, "10.0.0.2")).user.username).toBe("berta");
  // As after a clock that went back an hour: no lock lasts until it has caught up.
  await sql`update login_failure set window_ends_at = window_ends_at + interval '1 hour'`.execute(storage().db);
  await expect(logIn("berta", "wrong wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
  expect((await logIn("berta", PASSWORD)).user.username).toBe("berta");
});

test("a success resets the name's failures; an address of many names is locked as a whole", async () => {
  const { accounts, logins } = testAuth(storage(), { perName: 3, perAddress: 6 });
  const root = await makeUser(storage(), { role: "superadmin" });
  await accounts.create(root, { username: "dora", password: PASSWORD, role: "user", display_name: "" });
  const logIn = (username: string, password: string) => logins.logIn({ username, password }, "10.0.0.9");
  for (const _ of [1, 2])
    await expect(logIn("dora", "wrong wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
  await logIn("dora", PASSWORD);
  for (const _ of [1, 2])
    await expect(logIn("dora", "wrong wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
  for (const name of ["x1", "x2"])
    await expect(logIn(name, "wrong wrong")).rejects.toMatchObject({ code: "invalid_credentials" });
  await expect(logIn("x3", "wrong wrong")).rejects.toMatchObject({ code: "login_locked" });
});
