import { expect, test } from "vitest";
import type { Scope, ShareConfig } from "../../../src/service/protocol/auth.ts";
import { checkShareConfig, DEFAULT_SHARE } from "../../../src/service/auth/scopes.ts";

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
