import { expect, test } from "vitest";
import type { KeyIntent } from "../../../src/service/auth/keys.ts";
import { makeDepartment, makeUser, testAuth } from "../harness/auth.ts";
import { shareStorage } from "../harness/storage.ts";

const storage = shareStorage("postgres");
const intent = (userId: number, overrides: Partial<KeyIntent> = {}): KeyIntent => ({
  userId,
  requestId: "create-key-0001",
  name: "ci",
  expiresAt: null,
  source: "api",
  ...overrides,
});

test("the same request gives the same record and the same secret, however often and at once", async () => {
  const { keys, credentials } = testAuth(storage());
  const actor = await makeUser(storage());
  const made = await Promise.all(Array.from({ length: 20 }, () => keys.create(actor, intent(actor.caller.userId))));
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(1);
  expect(new Set(made.map(({ api_key }) => api_key.id)).size).toBe(1);
  const [first] = made;
  expect(first?.api_key.key_prefix).toBe(first?.secret.slice(0, 12));
  const caller = await credentials.authenticate(`Bearer ${first?.secret}`);
  expect(caller).toMatchObject({
    userId: actor.caller.userId,
    credential: { type: "api_key", id: first?.api_key.id },
  });
  expect((await keys.get(actor.caller, first?.api_key.id ?? 0)).last_used_at).not.toBeNull();
});

test("conflicts come in their order: revoked, other intent, rotated", async () => {
  const actor = await makeUser(storage());
  const { userId } = actor.caller;
  const { keys } = testAuth(storage());
  const rotated = testAuth(storage(), { keySecret: "another-key-secret-0123456789abcdef" });
  const { api_key } = await keys.create(actor, intent(userId));
  await expect(keys.create(actor, intent(userId, { name: "other" }))).rejects.toMatchObject({
    code: "intent_conflict",
  });
  await expect(keys.create(actor, intent(userId, { expiresAt: new Date("2030-01-01") }))).rejects.toMatchObject({
    code: "intent_conflict",
  });
  await expect(rotated.keys.create(actor, intent(userId, { name: "other" }))).rejects.toMatchObject({
    code: "intent_conflict",
  });
  await expect(rotated.keys.create(actor, intent(userId))).rejects.toMatchObject({ code: "master_key_rotated" });
  // A renamed record is still what the first intent made.
  await keys.update(actor, api_key.id, { name: "renamed" });
  expect((await keys.create(actor, intent(userId))).api_key.name).toBe("renamed");
  await expect(keys.create(actor, intent(userId, { name: "renamed" }))).rejects.toMatchObject({
    code: "intent_conflict",
  });
  await keys.revoke(actor, api_key.id);
  await expect(keys.create(actor, intent(userId))).rejects.toMatchObject({ code: "key_revoked" });
  await expect(keys.create(actor, intent(userId, { name: "other" }))).rejects.toMatchObject({ code: "key_revoked" });
  await expect(rotated.keys.create(actor, intent(userId))).rejects.toMatchObject({ code: "key_revoked" });
});

test("rotation keeps old keys working; disabled, expired, revoked and orphaned ones do not", async () => {
  const actor = await makeUser(storage());
  const { userId } = actor.caller;
  const { keys } = testAuth(storage());
  const { credentials } = testAuth(storage(), { keySecret: "another-key-secret-0123456789abcdef" });
  const { api_key, secret } = await keys.create(actor, intent(userId));
  const works = async () => {
    const result = await credentials.authenticate(`Bearer ${secret}`).catch((error: unknown) => error);
    if (result instanceof Error) expect(result).toMatchObject({ code: "unauthorized" });
    return !(result instanceof Error);
  };
  expect(await works()).toBe(true);
  await keys.update(actor, api_key.id, { is_enabled: false });
  expect(await works()).toBe(false);
  await keys.update(actor, api_key.id, { is_enabled: true });
  await storage()
    .db.updateTable("api_key")
    .set({ expires_at: new Date(Date.now() - 1_000) })
    .where("id", "=", api_key.id)
    .execute();
  expect(await works()).toBe(false);
  await keys.update(actor, api_key.id, { clear_expires_at: true });
  expect(await works()).toBe(true);
  await storage().db.updateTable("account").set({ is_enabled: false }).where("id", "=", userId).execute();
  expect(await works()).toBe(false);
  await storage().db.updateTable("account").set({ is_enabled: true }).where("id", "=", userId).execute();
  await keys.revoke(actor, api_key.id);
  await keys.revoke(actor, api_key.id);
  expect(await works()).toBe(false);
  await expect(keys.get(actor.caller, api_key.id)).rejects.toMatchObject({ code: "key_not_found" });
  await expect(keys.update(actor, api_key.id, { name: "x" })).rejects.toMatchObject({ code: "key_not_found" });
});

test("what looks wrong is refused like what is unknown", async () => {
  const { credentials } = testAuth(storage());
  for (const header of [
    undefined,
    "",
    "Bearer",
    "Basic eDp5",
    "Bearer svkey_",
    `Bearer svkey_${"A".repeat(48)}`,
    `Bearer svkey_${"0".repeat(48)}`,
    "Bearer a.b.c",
  ]) {
    await expect(credentials.authenticate(header)).rejects.toMatchObject({ code: "unauthorized" });
  }
});

test("an expiry in the past is refused for a new key and a change, and no obstacle for a repeat", async () => {
  const actor = await makeUser(storage());
  const { userId } = actor.caller;
  const { keys } = testAuth(storage());
  await expect(keys.create(actor, intent(userId, { expiresAt: new Date(Date.now() - 1_000) }))).rejects.toMatchObject({
    fields: [{ loc: ["body", "expires_at"] }],
  });
  const expiresAt = new Date(Date.now() + 86_400_000);
  const { api_key } = await keys.create(actor, intent(userId, { expiresAt }));
  expect(api_key.expires_at).toBe(expiresAt.toISOString());
  expect((await keys.create(actor, intent(userId, { expiresAt }))).api_key.id).toBe(api_key.id);
  await expect(keys.update(actor, api_key.id, { expires_at: new Date(Date.now() - 1_000) })).rejects.toMatchObject({
    fields: [{ loc: ["body", "expires_at"] }],
  });
  expect((await keys.get(actor.caller, api_key.id)).expires_at).toBe(expiresAt.toISOString());
});

test("a repeat is the same intent after the user has moved to another department, with another quota it is not", async () => {
  const { keys, accounts } = testAuth(storage());
  const departmentId = await makeDepartment(storage());
  const actor = await makeUser(storage(), { departmentId });
  const { userId } = actor.caller;
  const wanted = intent(userId, { departmentId, quota: { tokens_per_day: 5, runs_per_day: 1 } });
  const made = await keys.create(actor, wanted);
  await accounts.update(await makeUser(storage(), { role: "superadmin" }), userId, { department_id: null });
  await keys.update(actor, made.api_key.id, { quota: { runs_per_day: 9 } });
  const again = await keys.create(actor, { ...wanted, quota: { runs_per_day: 1, tokens_per_day: 5 } });
  expect(again).toMatchObject({ secret: made.secret, api_key: { quota: { runs_per_day: 9 } } });
  const { departmentId: _departmentId, ...elsewhere } = wanted;
  for (const other of [elsewhere, { ...wanted, quota: { runs_per_day: 9 } }, { ...wanted, quota: {} }])
    await expect(keys.create(actor, other)).rejects.toMatchObject({ code: "intent_conflict" });
});

test("own keys, the department's users' for an admin, all for a superadmin", async () => {
  const { keys } = testAuth(storage());
  const departmentId = await makeDepartment(storage());
  const user = await makeUser(storage(), { departmentId });
  const admin = await makeUser(storage(), { role: "admin", departmentId });
  const elsewhere = await makeUser(storage(), { role: "admin", departmentId: await makeDepartment(storage()) });
  const root = await makeUser(storage(), { role: "superadmin" });
  const { api_key } = await keys.create(admin, intent(user.caller.userId));
  expect(api_key).toMatchObject({
    user_id: user.caller.userId,
    created_by: admin.caller.userId,
    department_id: departmentId,
  });
  for (const actor of [user, admin, root]) expect((await keys.get(actor.caller, api_key.id)).id).toBe(api_key.id);
  await expect(keys.get(elsewhere.caller, api_key.id)).rejects.toMatchObject({ code: "key_not_found" });
  await expect(keys.update(elsewhere, api_key.id, { name: "x" })).rejects.toMatchObject({ code: "key_not_found" });
  await expect(keys.revoke(elsewhere, api_key.id)).rejects.toMatchObject({ code: "key_not_found" });
  await expect(
    keys.create(elsewhere, intent(user.caller.userId, { requestId: "create-key-0002" })),
  ).rejects.toMatchObject({ code: "user_not_found" });
  await expect(keys.create(user, intent(admin.caller.userId))).rejects.toMatchObject({ code: "user_not_found" });
  await expect(keys.create(root, intent(999_999))).rejects.toMatchObject({ code: "user_not_found" });
  await expect(
    keys.create(root, intent(user.caller.userId, { requestId: "create-key-0003", departmentId: 999_999 })),
  ).rejects.toMatchObject({ code: "department_mismatch" });
  await expect(keys.get(root.caller, 999_999)).rejects.toMatchObject({ code: "key_not_found" });
  const seen = async (actor: typeof user) =>
    (await keys.list(actor.caller, { skip: 0, limit: 500 })).api_keys.some(({ id }) => id === api_key.id);
  expect(await Promise.all([user, admin, elsewhere, root].map(seen))).toEqual([true, true, false, true]);
  expect(await keys.list(root.caller, { skip: 0, limit: 1, user_id: user.caller.userId })).toMatchObject({
    total: 1,
    api_keys: [{ id: api_key.id }],
  });
});
