import { sql } from "kysely";
import { expect, test } from "vitest";
import { resetPassword } from "../../../src/service/auth/reset-password.ts";
import { makeUser, testAuth } from "../harness/auth.ts";
import { shareStorage } from "../harness/storage.ts";

const storage = shareStorage("postgres");

test("an approved login gives a key, the same again when asked again", async () => {
  const { cliSessions, credentials } = testAuth(storage());
  const actor = await makeUser(storage());
  const { deviceCode, userCode } = await cliSessions.start("svc on laptop", "10.0.0.1");
  expect(userCode).toMatch(/^[A-HJ-NP-Z2-9]{4}-[A-HJ-NP-Z2-9]{4}$/);
  await expect(cliSessions.exchange(deviceCode, null)).rejects.toMatchObject({ code: "authorization_pending" });
  await expect(cliSessions.exchange(deviceCode, null)).rejects.toMatchObject({ code: "slow_down" });
  expect(await cliSessions.get(actor.caller, userCode.toLowerCase().replace("-", ""))).toMatchObject({
    state: "pending",
    client_name: "svc on laptop",
    ip: "10.0.0.1",
  });
  await cliSessions.approve(actor, userCode);
  await expect(cliSessions.deny(actor, userCode)).rejects.toMatchObject({ code: "cli_session_decided" });
  const made = await Promise.all([1, 2, 3].map(() => cliSessions.exchange(deviceCode, null)));
  expect(new Set(made.map(({ secret }) => secret)).size).toBe(1);
  expect(made[0]?.api_key).toMatchObject({ source: "cli", name: "svc on laptop", user_id: actor.caller.userId });
  expect(await credentials.authenticate(`Bearer ${made[0]?.secret}`)).toMatchObject({ userId: actor.caller.userId });
  expect((await cliSessions.get(actor.caller, userCode)).state).toBe("consumed");
});

test("a denied one is denied, an expired one and an unknown one have expired", async () => {
  const { cliSessions } = testAuth(storage());
  const actor = await makeUser(storage());
  const denied = await cliSessions.start("svc", "10.0.0.1");
  await cliSessions.deny(actor, denied.userCode);
  await expect(cliSessions.exchange(denied.deviceCode, null)).rejects.toMatchObject({ code: "access_denied" });
  const late = await cliSessions.start("svc", "10.0.0.1");
  await storage()
    .db.updateTable("cli_session")
    .set({ expires_at: sql<Date>`now()` })
    .where("user_code", "=", late.userCode)
    .execute();
  await expect(cliSessions.exchange(late.deviceCode, null)).rejects.toMatchObject({ code: "expired_token" });
  await expect(cliSessions.approve(actor, late.userCode)).rejects.toMatchObject({ code: "cli_session_not_found" });
  await expect(cliSessions.exchange("never-given", null)).rejects.toMatchObject({ code: "expired_token" });
});

test.each([
  ["disabled", { is_enabled: false }],
  ["deleted", { deleted_at: new Date() }],
])("one approved by a user who is %s since is denied", async (_name, change) => {
  const { cliSessions } = testAuth(storage());
  const actor = await makeUser(storage());
  const { deviceCode, userCode } = await cliSessions.start("svc", "10.0.0.1");
  await cliSessions.approve(actor, userCode);
  await storage().db.updateTable("account").set(change).where("id", "=", actor.caller.userId).execute();
  await expect(cliSessions.exchange(deviceCode, null)).rejects.toMatchObject({ code: "access_denied" });
});

test.each<
  [string, (user: Awaited<ReturnType<typeof makeUser>>, auth: ReturnType<typeof testAuth>) => Promise<unknown>]
>([
  ["has logged out", (user, { logins }) => logins.logOut(user)],
  [
    "has another password",
    (user) => resetPassword(storage(), { username: user.caller.username, password: "another one" }),
  ],
  [
    "was given another password",
    async (user, { accounts }) =>
      accounts.update(await makeUser(storage(), { role: "superadmin" }), user.caller.userId, {
        password: "another one",
      }),
  ],
  [
    "was disabled and enabled again",
    async (user, { accounts }) => {
      const root = await makeUser(storage(), { role: "superadmin" });
      await accounts.update(root, user.caller.userId, { is_enabled: false });
      await accounts.update(root, user.caller.userId, { is_enabled: true });
    },
  ],
])("one approved by a user who %s since gives no key", async (_name, change) => {
  const auth = testAuth(storage());
  const actor = await makeUser(storage());
  const { deviceCode, userCode } = await auth.cliSessions.start("svc", "10.0.0.1");
  await auth.cliSessions.approve(actor, userCode);
  await change(actor, auth);
  await expect(auth.cliSessions.exchange(deviceCode, null)).rejects.toMatchObject({ code: "access_denied" });
});

test("codes cannot be guessed: ten wrong ones, then none for a minute; what another decided is not there", async () => {
  const { cliSessions } = testAuth(storage());
  const [actor, other] = [await makeUser(storage()), await makeUser(storage())];
  const { userCode } = await cliSessions.start("svc", "10.0.0.1");
  await cliSessions.approve(actor, userCode);
  await expect(cliSessions.get(other.caller, userCode)).rejects.toMatchObject({ code: "cli_session_not_found" });
  for (let tries = 2; tries <= 10; tries += 1) {
    await expect(cliSessions.get(other.caller, "AAAA-AAAA")).rejects.toMatchObject({ code: "cli_session_not_found" });
  }
  await expect(cliSessions.get(other.caller, "AAAA-AAAA")).rejects.toMatchObject({ code: "too_many_codes" });
  expect((await cliSessions.get(actor.caller, userCode)).state).toBe("approved");
});
