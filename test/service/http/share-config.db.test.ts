import { expect, test } from "vitest";
import { putAgents } from "../../../src/service/agents/seed.ts";
import type { ShareConfig } from "../../../src/service/protocol/auth.ts";
import { call } from "../harness/app.ts";
import { makeDepartment } from "../harness/auth.ts";
import { appWithPeople } from "../harness/people.ts";
import { freshStorage } from "../harness/storage.ts";

const users = (...user_uids: number[]) => ({ access_level: "user", user_uids });
const departments = (...department_ids: number[]) => ({ access_level: "department", department_ids });
const EVERYONE = { access_level: "global" };

test("agents of a file are shared with departments and users that are there, and no others", async () => {
  const storage = await freshStorage("postgres");
  const departmentId = await makeDepartment(storage);
  const put = (read_scope: ShareConfig["read_scope"]) =>
    putAgents(storage, {
      isDefault: false,
      agents: [
        {
          slug: "of-a-file",
          name: "n",
          executor: "cli-b",
          share_config: { version: 2, read_scope, manage_scope: null },
        },
      ],
    });
  const scope: ShareConfig["read_scope"] = {
    access_level: "department",
    department_ids: [departmentId],
    user_uids: [],
  };
  await put(scope);
  await expect(put({ access_level: "user", department_ids: [], user_uids: [77] })).rejects.toThrow(
    "SERVICE_AGENTS_FILE: the agent of-a-file: share_config: read_scope: there is no user 77",
  );
  // What it was shared with before may be gone: the service starts all the same.
  await storage.db.deleteFrom("department").where("id", "=", departmentId).execute();
  await put(scope);
});

test.each([
  ["agents", "agent", (n: number) => ({ slug: `a-${n}`, name: "n", executor: "cli-b" })],
  ["knowledge/databases", "database", (n: number) => ({ name: `kb ${n}` })],
] as const)(
  "/api/%s is shared with departments and users that are there, and no others",
  async (path, field, bodyOf) => {
    const storage = await freshStorage("postgres");
    const { app, auth, owner, superadmin } = await appWithPeople(storage);
    const [userId, departmentId] = [owner.caller.userId, await makeDepartment(storage)];
    let made = 0;
    const create = (read_scope: object, manage_scope: object | null = null) =>
      call(
        app,
        "POST",
        `/api/${path}`,
        { ...bodyOf((made += 1)), share_config: { read_scope, manage_scope } },
        superadmin,
      );
    for (const [read, manage, name, message] of [
      [users(userId, 99_999), null, "read_scope", "read_scope: there is no user 99999"],
      [departments(99_999), null, "read_scope", "read_scope: there is no department 99999"],
      [EVERYONE, users(99_999), "manage_scope", "manage_scope: there is no user 99999"],
      [EVERYONE, departments(departmentId, 99_999), "manage_scope", "manage_scope: there is no department 99999"],
    ] as const)
      expect(await create(read, manage)).toMatchObject({
        status: 422,
        body: { detail: { code: "share_config_invalid", loc: ["body", "share_config", name], message } },
      });
    expect((await create(departments(departmentId), departments(departmentId))).status).toBe(200);
    const { body } = await create(users(userId));
    const shown = body[field];
    const url = `/api/${path}/${shown.slug ?? shown.kb_id}`;
    await auth.accounts.remove({ caller: superadmin.caller, ip: null }, userId);
    const share = (revision: number, ...ids: number[]) =>
      call(app, "PUT", url, { revision, share_config: { read_scope: users(...ids) } }, superadmin);
    // Who was there when it was shared may stay; a user who is gone is given nothing new.
    const { status, body: changed } = await share(shown.revision, userId, superadmin.caller.userId);
    expect(status).toBe(200);
    expect((await share(changed[field].revision, 99_999)).status).toBe(422);
    expect((await create(users(userId))).status).toBe(422);
  },
);
