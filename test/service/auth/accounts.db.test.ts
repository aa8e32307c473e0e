import { expect, test } from "vitest";
import { makeDepartment, makeUser, PASSWORD, testAuth } from "../harness/auth.ts";
import { freshStorage, shareStorage } from "../harness/storage.ts";

const storage = shareStorage("postgres");

test("admins manage the users of their department, superadmins all, users none", async () => {
  const { accounts } = testAuth(storage());
  const departmentId = await makeDepartment(storage());
  const root = await makeUser(storage(), { role: "superadmin" });
  const admin = await makeUser(storage(), { role: "admin", departmentId });
  const user = await makeUser(storage(), { departmentId });
  const outsider = await makeUser(storage());
  const body = {
    username: `e${crypto.randomUUID().slice(0, 8)}`,
    password: PASSWORD,
    role: "user" as const,
    display_name: "",
  };
  await expect(accounts.create(user, body)).rejects.toMatchObject({ code: "role_required" });
  await expect(accounts.create(admin, { ...body, role: "admin" })).rejects.toMatchObject({ code: "forbidden" });
  const made = await accounts.create(admin, body);
  expect(made.department_id).toBe(departmentId);
  await expect(accounts.create(admin, body)).rejects.toMatchObject({ code: "username_taken" });
  await expect(accounts.update(admin, made.id, { role: "admin" })).rejects.toMatchObject({ code: "forbidden" });
  await expect(accounts.update(admin, outsider.caller.userId, { display_name: "x" })).rejects.toMatchObject({
    code: "forbidden",
  });
  await expect(accounts.update(root, made.id, { department_id: 999_999 })).rejects.toMatchObject({
    code: "department_not_found",
  });
  await expect(accounts.get(user, made.id)).rejects.toMatchObject({ code: "role_required" });
  expect((await accounts.get(user, user.caller.userId)).id).toBe(user.caller.userId);
  expect((await accounts.list(admin, { skip: 0, limit: 500 })).users.map(({ id }) => id)).toEqual([
    user.caller.userId,
    made.id,
  ]);
  await accounts.remove(admin, made.id);
  await expect(accounts.remove(admin, made.id)).rejects.toMatchObject({ code: "user_not_found" });
});

test("the last superadmin stays: not deleted, demoted or disabled, however many try at once", async () => {
  const own = await freshStorage("postgres");
  const { accounts } = testAuth(own);
  const [one, two] = [await makeUser(own, { role: "superadmin" }), await makeUser(own, { role: "superadmin" })];
  const results = await Promise.allSettled([
    accounts.remove(one, two.caller.userId),
    accounts.update(two, one.caller.userId, { role: "user" }),
  ]);
  expect(results.filter(({ status }) => status === "rejected")).toMatchObject([
    { reason: { code: "last_superadmin" } },
  ]);
  const { rows } = {
    rows: await own.db
      .selectFrom("account")
      .select("id")
      .where("role", "=", "superadmin")
      .where("deleted_at", "is", null)
      .execute(),
  };
  expect(rows).toHaveLength(1);
});

test("a department in use stays, its name is one department's", async () => {
  const { departments } = testAuth(storage());
  const root = await makeUser(storage(), { role: "superadmin" });
  const admin = await makeUser(storage(), { role: "admin" });
  const made = await departments.create(root, "Sales");
  await expect(departments.create(root, "Sales")).rejects.toMatchObject({ code: "department_name_taken" });
  await expect(departments.create(admin, "Other")).rejects.toMatchObject({ code: "role_required" });
  expect((await departments.update(root, made.id, "Support")).name).toBe("Support");
  await makeUser(storage(), { departmentId: made.id });
  await expect(departments.remove(root, made.id)).rejects.toMatchObject({ code: "department_in_use" });
  const empty = await departments.create(root, "Empty");
  await departments.remove(root, empty.id);
  await expect(departments.remove(root, empty.id)).rejects.toMatchObject({ code: "department_not_found" });
});
