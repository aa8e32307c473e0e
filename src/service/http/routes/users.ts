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
    operationId: "listUsers",
    summary: "List users",
    description: "Superadmins see all, admins the users of their department.",
    querystring: ListQuery,
    response: { 200: UserList, ...refusals("role_required") },
  };
  app.get("/api/auth/users", { schema: list }, async (request) => accounts.list(actorOf(request), request.query));

  const create = {
    tags,
    operationId: "createUser",
    summary: "Make a user",
    description: "Superadmins make any; admins make users of their department.",
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
    operationId: "getUser",
    summary: "Look at a user",
    description: "Oneself, or a user whom one manages.",
    params: UserPath,
    response: { 200: UserAnswer, ...refusals("role_required", "forbidden", "user_not_found") },
  };
  app.get("/api/auth/users/:user_id", { schema: get }, async (request) => ({
    user: await accounts.get(actorOf(request), request.params.user_id),
  }));

  const update = {
    tags,
    operationId: "updateUser",
    summary: "Change a user",
    description: "Only fields that are given change. A new password, and disabling, end the user's tokens.",
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
    operationId: "deleteUser",
    summary: "Delete a user",
    description: "Keys and tokens end at once, runs are cancelled. What the user did stays in the audit.",
    params: UserPath,
    response: { 200: Success, ...refusals("role_required", "forbidden", "user_not_found", "last_superadmin") },
  };
  app.delete("/api/auth/users/:user_id", { schema: remove }, async (request) => {
    await accounts.remove(actorOf(request), request.params.user_id);
    return done;
  });

  const listDepartments = {
    tags,
    operationId: "listDepartments",
    summary: "List departments",
    description: "All departments, for every user.",
    querystring: ListQuery,
    response: { 200: DepartmentList, ...refusals() },
  };
  app.get("/api/departments", { schema: listDepartments }, async ({ query }) => departments.list(query));

  const createDepartment = {
    tags,
    operationId: "createDepartment",
    summary: "Make a department",
    description: "Superadmins only.",
    body: DepartmentBody,
    response: { 200: DepartmentAnswer, ...refusals("role_required", "department_name_taken") },
  };
  app.post("/api/departments", { schema: createDepartment }, async (request) => ({
    department: await departments.create(actorOf(request), request.body.name),
  }));

  const updateDepartment = {
    tags,
    operationId: "updateDepartment",
    summary: "Rename a department",
    description: "Superadmins only.",
    params: DepartmentPath,
    body: DepartmentBody,
    response: { 200: DepartmentAnswer, ...refusals("role_required", "department_not_found", "department_name_taken") },
  };
  app.put("/api/departments/:department_id", { schema: updateDepartment }, async (request) => ({
    department: await departments.update(actorOf(request), request.params.department_id, request.body.name),
  }));

  const removeDepartment = {
    tags,
    operationId: "deleteDepartment",
    summary: "Delete a department",
    description: "Superadmins only; 409 while users or keys are in it.",
    params: DepartmentPath,
    response: { 200: Success, ...refusals("role_required", "department_not_found", "department_in_use") },
  };
  app.delete("/api/departments/:department_id", { schema: removeDepartment }, async (request) => {
    await departments.remove(actorOf(request), request.params.department_id);
    return done;
  });

  const audit = {
    tags,
    operationId: "listAudit",
    summary: "Read the audit, newest first",
    description: "Superadmins only. `before` is the id of the last entry of the page before.",
    querystring: AuditQuery,
    response: { 200: AuditList, ...refusals("role_required") },
  };
  app.get("/api/audit", { schema: audit }, async (request) => {
    assertMayAny(callerOf(request), PERMISSIONS.readAudit);
    return { entries: await listAudit(storage.db, request.query) };
  });
};
