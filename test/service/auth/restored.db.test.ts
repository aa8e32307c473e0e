import { expect, test } from "vitest";
import { endCredentials } from "../../../src/service/auth/end-credentials.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { makeUser, PASSWORD, testAuth } from "../harness/auth.ts";
import { freshStorage } from "../harness/storage.ts";

const KEY = { requestId: "my-first-key", name: "first", expiresAt: null, source: "api" } as const;
const body = (username: string) => ({ username, password: PASSWORD, role: "user" as const, display_name: "" });

/** A user of a storage, made like any other, with a token and a key. */
async function register(storage: Storage, username: string) {
  const { accounts, logins, keys, credentials } = testAuth(storage);
  const user = await accounts.create(await makeUser(storage, { role: "superadmin" }), body(username));
  const { token } = await logins.logIn({ username, password: PASSWORD }, "127.0.0.1");
  const actor = { caller: await credentials.authenticate(`Bearer ${token}`), ip: null };
  const made = await keys.create(actor, { ...KEY, userId: user.id });
  return { id: user.id, token, secret: made.secret, keyId: made.api_key.id, actor };
}

test("in a database made anew, or restored, beside kept secrets, the same ids let no one in as another", async () => {
  const ghost = await register(await freshStorage("postgres"), "ghost");
  const restored = await freshStorage("postgres");
  const victim = await register(restored, "victim");
  expect([victim.id, victim.keyId]).toEqual([ghost.id, ghost.keyId]);
  const { credentials } = testAuth(restored);
  for (const old of [ghost.token, ghost.secret]) {
    await expect(credentials.authenticate(`Bearer ${old}`)).rejects.toMatchObject({ code: "unauthorized" });
  }
  for (const own of [victim.token, victim.secret]) {
    expect(await credentials.authenticate(`Bearer ${own}`)).toMatchObject({ username: "victim" });
  }
});

test("a token that ended after the backup stays ended when the restored account's tokens end again", async () => {
  const storage = await freshStorage("postgres");
  const { logins, credentials } = testAuth(storage);
  const { id, actor } = await register(storage, "alice");
  const backup = await storage.db.selectFrom("account").select("epoch").where("id", "=", id).executeTakeFirstOrThrow();
  const changed = await logins.changePassword(actor, { old_password: PASSWORD, new_password: "another one" });
  await logins.logOut(actor);
  await storage.db.updateTable("account").set(backup).where("id", "=", id).execute();
  for (let end = 0; end < 3; end += 1) {
    await logins.logOut(actor);
    await expect(credentials.authenticate(`Bearer ${changed.token}`)).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("a key that was revoked after the backup is not made again by its user's repeat", async () => {
  const storage = await freshStorage("postgres");
  const { keys, credentials } = testAuth(storage);
  const { id, actor, keyId, secret } = await register(storage, "alice");
  await keys.revoke(actor, keyId);
  await storage.db.deleteFrom("api_key").where("id", "=", keyId).execute();
  expect((await keys.create(actor, { ...KEY, userId: id })).secret).not.toBe(secret);
  await expect(credentials.authenticate(`Bearer ${secret}`)).rejects.toMatchObject({ code: "unauthorized" });
});

test("one command ends every login, and disables every key and webhook, which are then enabled one by one", async () => {
  const storage = await freshStorage("postgres");
  const { keys, credentials, logins, cliSessions } = testAuth(storage);
  const people = [await register(storage, "alice"), await register(storage, "bob")];
  const [alice] = people;
  if (alice === undefined) throw new Error("nobody");
  const device = await cliSessions.start("svc", "10.0.0.1");
  await cliSessions.approve(alice.actor, device.userCode);
  const hook = { id: crypto.randomUUID(), user_id: alice.id, url: "https://a.example/", events: [] };
  await storage.db.insertInto("webhook").values(hook).execute();
  // Two superadmins besides.
  expect(await endCredentials(storage)).toEqual({ users: 4, keys: 2, webhooks: 1 });
  for (const { token, secret } of people) {
    for (const old of [token, secret])
      await expect(credentials.authenticate(`Bearer ${old}`)).rejects.toMatchObject({ code: "unauthorized" });
  }
  await expect(cliSessions.exchange(device.deviceCode, null)).rejects.toMatchObject({ code: "expired_token" });
  const webhook = await storage.db.selectFrom("webhook").selectAll().executeTakeFirstOrThrow();
  expect(webhook.is_enabled).toBe(false);
  expect(webhook.secret_version).not.toBe(1);
  const { token } = await logins.logIn({ username: "alice", password: PASSWORD }, "127.0.0.1");
  const actor = { caller: await credentials.authenticate(`Bearer ${token}`), ip: null };
  await keys.update(actor, alice.keyId, { is_enabled: true });
  expect(await credentials.authenticate(`Bearer ${alice.secret}`)).toMatchObject({ username: "alice" });
  const entry = await storage.db
    .selectFrom("audit_entry")
    .selectAll()
    .where("action", "=", "credentials.ended")
    .execute();
  expect(entry).toMatchObject([{ actor_id: null, details: { users: 4, keys: 2, webhooks: 1, by: "command_line" } }]);
  expect(await endCredentials(storage)).toEqual({ users: 4, keys: 1, webhooks: 0 });
});
