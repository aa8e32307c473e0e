import { expect, test } from "vitest";
import type { Scope, ShareConfig } from "../../../src/service/protocol/auth.ts";
import type { Caller } from "../../../src/service/auth/caller.ts";
import { canManage, canRead, checkShareConfig, DEFAULT_SHARE } from "../../../src/service/auth/scopes.ts";

const all: Scope = { access_level: "global", department_ids: [], user_uids: [] };
const department = (...department_ids: number[]): Scope => ({
  access_level: "department",
  department_ids,
  user_uids: [],
});
const users = (...user_uids: number[]): Scope => ({ access_level: "user", department_ids: [], user_uids });
const config = (read_scope: Scope, manage_scope: Scope | null = null): ShareConfig => ({
  version: 2,
  read_scope,
  manage_scope,
});
const caller = (userId: number, role: Caller["role"], departmentId: number | null = null): Caller => ({
  userId,
  username: `u${userId}`,
  role,
  departmentId,
  credential: { type: "jwt" },
});

test("writing is strict: lists of the level, none of another, manage within read", () => {
  for (const good of [
    DEFAULT_SHARE,
    config(all, users(1)),
    config(department(1, 2), department(2)),
    config(users(1, 2), users(2)),
  ]) {
    expect(checkShareConfig(good)).toBe(good);
  }
  const bad = [
    config(department()),
    config(users()),
    config({ ...all, user_uids: [1] }),
    config({ ...department(1), user_uids: [1] }),
    config(department(1), all),
    config(department(1), department(2)),
    config(department(1), users(1)),
    config(users(1), users(1, 2)),
  ];
  for (const each of bad)
    expect(() => checkShareConfig(each)).toThrow(expect.objectContaining({ code: "share_config_invalid" }));
});

test.each([
  ["global", config(all), [true, true, true, true]],
  ["department 1", config(department(1)), [true, true, true, false]],
  ["user 4", config(users(4)), [true, true, false, true]],
  ["unreadable", { version: 3 }, [true, true, false, false]],
])("%s is read by creator, superadmin and whom it names", (_name, share_config, expected) => {
  const shared = { created_by: 9, share_config };
  const callers = [caller(9, "user"), caller(1, "superadmin"), caller(3, "user", 1), caller(4, "user", 2)];
  expect(callers.map((each) => canRead(each, shared))).toEqual(expected);
});

test("it is managed by creator and superadmin, by an admin in scope, and never by another user", () => {
  const shared = { created_by: 9, share_config: config(all, department(1)) };
  expect(canManage(caller(9, "user"), shared)).toBe(true);
  expect(canManage(caller(1, "superadmin"), shared)).toBe(true);
  expect(canManage(caller(2, "admin", 1), shared)).toBe(true);
  expect(canManage(caller(2, "admin", 2), shared)).toBe(false);
  expect(canManage(caller(3, "user", 1), shared)).toBe(false);
  expect(canManage(caller(2, "admin", 1), { created_by: null, share_config: config(all) })).toBe(false);
});
