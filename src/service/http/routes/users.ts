import type { FastifyPluginAsyncZod } from "fastify-type-provider-zod";
import {
  AuditList,
  AuditQuery,
  CreateUserBody,
  DepartmentAnswer,
  DepartmentBody,
  DepartmentList,
  DepartmentPath,
  ListQuery,
  UpdateUserBody,
  UserAnswer,
  UserList,
  UserPath,
} from "../../protocol/auth.ts";
import { Success } from "../../protocol/common.ts";
import { listAudit } from "../../auth/audit.ts";
import type { Auth } from "../../auth/auth.ts";
import { assertMayAny, PERMISSIONS } from "../../auth/permissions.ts";
import type { Storage } from "../../storage/storage.ts";
import { actorOf, callerOf } from "../callers.ts";
import { refusals } from "../refusals.ts";

const tags = ["users"];
const done = { success: true } as const;

/** Users, departments and the audit. */
export const userRoutes: FastifyPluginAsyncZod<{ auth: Auth; storage: Storage }> = async (app, { auth, storage }) => {
  const { accounts, departments } = auth;

  const list = {
    tags,
    summary: "List users",
    querystring: ListQuery,
    response: { 200: UserList, ...refusals("role_required") },
  };
  app.get("/api/auth/users", { schema: list }, async (request) => accounts.list(actorOf(request), request.query));

  const create = {
    tags,
    summary: "Make a user",
    body: CreateUserBody,
    response: {
      200: UserAnswer,
      ...refusals(
        "role_required",
        "login_required",
        "forbidden",
        "username_taken",
        "department_not_found",
        "password_invalid",
      ),
    },
  };
  app.post("/api/auth/users", { schema: create }, async (request) => ({
    user: await accounts.create(actorOf(request), request.body),
  }));

  const get = {
    tags,
    summary: "Look at a user",
    params: UserPath,
    response: { 200: UserAnswer, ...refusals("role_required", "forbidden", "user_not_found") },
  };
  app.get("/api/auth/users/:user_id", { schema: get }, async (request) => ({
    user: await accounts.get(actorOf(request), request.params.user_id),
  }));

  const update = {
    tags,
    summary: "Change a user",
    params: UserPath,
    body: UpdateUserBody,
    response: {
      200: UserAnswer,
      ...refusals(
        "role_required",
        "login_required",
        "forbidden",
        "user_not_found",
        "department_not_found",
        "last_superadmin",
        "password_invalid",
      ),
    },
  };
  app.put("/api/auth/users/:user_id", { schema: update }, async (request) => ({
    user: await accounts.update(actorOf(request), request.params.user_id, request.body),
  }));

  const remove = {
    tags,
    summary: "Delete a user",
    description: "Keys and tokens end at once, runs are cancelled.",
    params: UserPath,
    response: { 200: Success, ...refusals("role_required", "forbidden", "user_not_found", "last_superadmin") },
  };
  app.delete("/api/auth/users/:user_id", { schema: remove }, async (request) => {
    await accounts.remove(actorOf(request), request.params.user_id);
    return done;
  });

  const listDepartments = {
    tags,
    summary: "List departments",
    querystring: ListQuery,
    response: { 200: DepartmentList, ...refusals() },
  };
  app.get("/api/departments", { schema: listDepartments }, async ({ query }) => departments.list(query));

  const createDepartment = {
    tags,
    summary: "Make a department",
    body: DepartmentBody,
    response: { 200: DepartmentAnswer, ...refusals("role_required", "department_name_taken") },
  };
  app.post("/api/departments", { schema: createDepartment }, async (request) => ({
    department: await departments.create(actorOf(request), request.body.name),
  }));

  const updateDepartment = {
    tags,
    summary: "Rename a department",
    params: DepartmentPath,
    body: DepartmentBody,
    response: { 200: DepartmentAnswer, ...refusals("role_required", "department_not_found", "department_name_taken") },
  };
  app.put("/api/departments/:department_id", { schema: updateDepartment }, async (request) => ({
    department: await departments.update(actorOf(request), request.params.department_id, request.body.name),
  }));

  const removeDepartment = {
    tags,
    summary: "Delete a department",
    params: DepartmentPath,
    response: { 200: Success, ...refusals("role_required", "department_not_found", "department_in_use") },
  };
  app.delete("/api/departments/:department_id", { schema: removeDepartment }, async (request) => {
    await departments.remove(actorOf(request), request.params.department_id);
    return done;
  });

  const audit = {
    tags,
    summary: "Read the audit, newest first",
    querystring: AuditQuery,
    response: { 200: AuditList, ...refusals("role_required") },
  };
  app.get("/api/audit", { schema: audit }, async (request) => {
    assertMayAny(callerOf(request), PERMISSIONS.readAudit);
    return { entries: await listAudit(storage.db, request.query) };
  });
};
