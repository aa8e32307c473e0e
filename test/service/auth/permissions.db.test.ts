import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import type { Role, Scope, ShareConfig } from "../../../src/service/protocol/auth.ts";
import type { Caller } from "../../../src/service/auth/caller.ts";
import {
  assertMayAny,
  may,
  mayAll,
  PERMISSIONS,
  whereMay,
  type UserSubject,
  type SharedItem,
} from "../../../src/service/auth/permissions.ts";
import { makeDepartment, makeUser } from "../harness/auth.ts";
import { freshStorage } from "../harness/storage.ts";

const ROLES = ["user", "admin", "superadmin"] as const;

interface DocumentedRow {
  readonly action: string;
  readonly grounds: Readonly<Record<Role, readonly string[]>>;
  readonly isByKey: boolean;
}

/** The table of docs/service.md. */
async function readDocumented(): Promise<DocumentedRow[]> {
  const text = await readFile("docs/service.md", "utf8");
  const table = text.split("### Who may do what")[1]?.split("\n\n")[2] ?? "";
  return table.split("\n").flatMap((line) => {
    const [, label = "", user = "", admin = "", superadmin = "", key] = line.split("|").map((cell) => cell.trim());
    if (key !== "yes" && key !== "no") return [];
    const words = label.replace(/ \(.*\)$/, "").split(" ");
    const action = words.map((word, index) => (index === 0 ? word : word[0]?.toUpperCase() + word.slice(1))).join("");
    const groundsOf = (cell: string): string[] => (cell === "–" ? [] : cell.split(", "));
    return [
      {
        action,
        grounds: { user: groundsOf(user), admin: groundsOf(admin), superadmin: groundsOf(superadmin) },
        isByKey: key === "yes",
      },
    ];
  });
}

const DEPARTMENT = 7;
const scope = (more: Partial<Scope>): Scope => ({ access_level: "user", department_ids: [], user_uids: [], ...more });
const config = (read_scope: Scope, manage_scope: Scope | null = null): ShareConfig => ({
  version: 2,
  read_scope,
  manage_scope,
});
const everybody = scope({ access_level: "global" });
const ofDepartment = scope({ access_level: "department", department_ids: [DEPARTMENT] });
const elsewhere = scope({ access_level: "department", department_ids: [8] });
const callerOf = (role: Role, credential: Caller["credential"] = { type: "jwt" }): Caller => ({
  userId: 1,
  username: "u1",
  role,
  departmentId: DEPARTMENT,
  credential,
});

/** Users, each with the grounds that it is a subject of. */
const usersOf = (role: Role): [string, UserSubject, readonly string[]][] => [
  ["oneself", { id: 1, role, department_id: DEPARTMENT }, role === "user" ? ["own", "department"] : ["own"]],
  ["a user of the department", { id: 2, role: "user", department_id: DEPARTMENT }, ["department"]],
  ["an admin of the department", { id: 2, role: "admin", department_id: DEPARTMENT }, []],
  ["a superadmin of the department", { id: 2, role: "superadmin", department_id: DEPARTMENT }, []],
  ["a user elsewhere", { id: 2, role: "user", department_id: 8 }, []],
  ["a user of no department", { id: 2, role: "user", department_id: null }, []],
];

/** Things shared, each with the grounds that it is a subject of. */
const SHARED: [string, SharedItem, readonly string[]][] = [
  ["own, shared with no other", { created_by: 1, share_config: config(scope({ user_uids: [9] })) }, ["own"]],
  ["own, unreadable", { created_by: 1, share_config: { version: 3 } }, ["own"]],
  ["read by all", { created_by: 2, share_config: config(everybody) }, ["read_scope"]],
  ["read by department", { created_by: 2, share_config: config(ofDepartment, elsewhere) }, ["read_scope"]],
  ["read by name", { created_by: 2, share_config: config(scope({ user_uids: [1] })) }, ["read_scope"]],
  ["managed by all", { created_by: 2, share_config: config(everybody, everybody) }, ["read_scope", "manage_scope"]],
  [
    "managed by name",
    { created_by: 2, share_config: config(everybody, scope({ user_uids: [1] })) },
    ["read_scope", "manage_scope"],
  ],
  [
    "managed by department",
    { created_by: 2, share_config: config(ofDepartment, ofDepartment) },
    ["read_scope", "manage_scope"],
  ],
  ["shared elsewhere", { created_by: 2, share_config: config(elsewhere, elsewhere) }, []],
  ["unreadable", { created_by: 2, share_config: { version: 3 } }, []],
  ["of nobody", { created_by: null, share_config: config(elsewhere) }, []],
];

const KEY = { type: "api_key", id: 5 } as const;

test("each role may do to each subject what the documented table says, and a key what it says of keys", async () => {
  const documented = await readDocumented();
  expect(documented.map(({ action }) => action).toSorted()).toEqual(Object.keys(PERMISSIONS).toSorted());
  let looked = 0;
  for (const [action, permission] of Object.entries(PERMISSIONS)) {
    const row = documented.find((each) => each.action === action);
    if (row === undefined) throw new Error(`${action} is not documented`);
    const isOfShared = [...row.grounds.user, ...row.grounds.admin].some((word) => word.endsWith("_scope"));
    for (const role of ROLES) {
      const words = row.grounds[role];
      const subjects: [string, UserSubject | SharedItem, readonly string[]][] = isOfShared ? SHARED : usersOf(role);
      for (const [name, subject, holding] of subjects) {
        const isDue = words.includes("all") || words.some((word) => holding.includes(word));
        const answers = [callerOf(role), callerOf(role, KEY)].map((caller) =>
          // What is of users is asked with users, and so on; the table's type is the union of all.
          may<never>(caller, permission, subject as never),
        );
        expect([action, role, name, ...answers]).toEqual([action, role, name, isDue, isDue && row.isByKey]);
        looked += 1;
      }
      const reachesAll = [callerOf(role), callerOf(role, KEY)].map((caller) => mayAll(caller, permission));
      expect([action, role, ...reachesAll]).toEqual([
        action,
        role,
        words.includes("all"),
        words.includes("all") && row.isByKey,
      ]);
      const codes = [callerOf(role), callerOf(role, KEY)].map((caller) =>
        codeOf(() => assertMayAny(caller, permission)),
      );
      expect([action, role, ...codes]).toEqual([
        action,
        role,
        words.length === 0 ? "role_required" : undefined,
        words.length === 0 ? "role_required" : row.isByKey ? undefined : "login_required",
      ]);
    }
  }
  expect(looked).toBeGreaterThan(400);
});

test("a list has the users whom each of them may be done to, and no other", async () => {
  const storage = await freshStorage("postgres");
  const [here, there] = [await makeDepartment(storage), await makeDepartment(storage)];
  const callers: Caller[] = [];
  for (const role of ROLES) {
    for (const departmentId of [here, there, null])
      callers.push((await makeUser(storage, { role, departmentId })).caller);
  }
  const rows = await storage.db.selectFrom("account").selectAll().orderBy("id").execute();
  const seen = new Set<number>();
  for (const caller of callers) {
    for (const permission of [PERMISSIONS.listUsers, PERMISSIONS.readKey, PERMISSIONS.makeKey, PERMISSIONS.logOut]) {
      for (const credential of [caller.credential, KEY]) {
        const asked = { ...caller, credential };
        const listed = await storage.db
          .selectFrom("account")
          .select("id")
          .where(whereMay(asked, permission))
          .orderBy("id")
          .execute();
        expect(listed.map(({ id }) => id)).toEqual(
          rows.flatMap((row) => (may(asked, permission, row) ? [row.id] : [])),
        );
        seen.add(listed.length);
      }
    }
  }
  // Nobody, oneself, a department of one besides oneself, and everybody.
  expect([...seen].toSorted((left, right) => left - right)).toEqual([0, 1, 2, rows.length]);
});

function codeOf(action: () => void): unknown {
  try {
    action();
    return undefined;
  } catch (error) {
    return error instanceof Error && "code" in error ? error.code : error;
  }
}
