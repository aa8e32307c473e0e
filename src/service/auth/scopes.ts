import { ShareConfig, type Scope } from "../protocol/auth.ts";
import { InputProblem } from "../protocol/problems.ts";
import type { Transaction } from "../storage/transaction.ts";
import type { Caller } from "./caller.ts";

/** At creation, when none is given: every user reads, only the creator and superadmins manage. */
export const DEFAULT_SHARE: ShareConfig = {
  version: 2,
  read_scope: { access_level: "global", department_ids: [], user_uids: [] },
  manage_scope: null,
};

/** Writing is strict. @throws {InputProblem} share_config_invalid */
export function checkShareConfig(config: ShareConfig): ShareConfig {
  checkScope("read_scope", config.read_scope);
  if (config.manage_scope !== null) {
    checkScope("manage_scope", config.manage_scope);
    if (!contains(config.read_scope, config.manage_scope)) refuse("manage_scope", "must be within read_scope");
  }
  return config;
}

/**
 * Whom something is shared with has to be there: an id that is not would be given to someone else one day, with the right. What was
 * shared before may stay, as a department or user may be gone since.
 *
 * @throws {InputProblem} share_config_invalid
 */
export async function assertSharedWithKnown(trx: Transaction, config: ShareConfig, before?: unknown): Promise<void> {
  const granted = ShareConfig.safeParse(before).data;
  const known = [granted?.read_scope, granted?.manage_scope];
  const scopes = { read_scope: config.read_scope, manage_scope: config.manage_scope };
  for (const [name, scope] of Object.entries(scopes)) {
    const isNew = (list: "department_ids" | "user_uids") => (id: number) =>
      !known.some((each) => each?.[list].includes(id));
    const departments = scope?.department_ids.filter(isNew("department_ids")) ?? [];
    const users = scope?.user_uids.filter(isNew("user_uids")) ?? [];
    const foundDepartments =
      departments.length === 0
        ? []
        : await trx.selectFrom("department").select("id").where("id", "in", departments).execute();
    const foundUsers =
      users.length === 0
        ? []
        : await trx
            .selectFrom("account")
            .select("id")
            .where("id", "in", users)
            .where("deleted_at", "is", null)
            .execute();
    refuseMissing(name, "department", departments, foundDepartments);
    refuseMissing(name, "user", users, foundUsers);
  }
}

function refuseMissing(
  name: string,
  kind: string,
  ids: readonly number[],
  found: readonly { readonly id: number }[],
): void {
  const missing = ids.find((wanted) => !found.some(({ id }) => id === wanted));
  if (missing !== undefined) refuse(name, `there is no ${kind} ${missing}`);
}

/** Whether a scope names the caller. */
export function isInScope(caller: Caller, scope: Scope | undefined): boolean {
  switch (scope?.access_level) {
    case undefined:
      return false;
    case "global":
      return true;
    case "department":
      return caller.departmentId !== null && scope.department_ids.includes(caller.departmentId);
    case "user":
      return scope.user_uids.includes(caller.userId);
  }
}

function checkScope(name: string, { access_level, department_ids, user_uids }: Scope): void {
  if (access_level === "department" && department_ids.length === 0) refuse(name, "department needs department_ids");
  if (access_level === "user" && user_uids.length === 0) refuse(name, "user needs user_uids");
  if (access_level !== "department" && department_ids.length > 0) refuse(name, "department_ids belong to department");
  if (access_level !== "user" && user_uids.length > 0) refuse(name, "user_uids belong to user");
}

function contains(outer: Scope, inner: Scope): boolean {
  if (outer.access_level === "global") return true;
  if (outer.access_level !== inner.access_level) return false;
  return (
    inner.department_ids.every((id) => outer.department_ids.includes(id)) &&
    inner.user_uids.every((id) => outer.user_uids.includes(id))
  );
}

function refuse(name: string, message: string): never {
  throw new InputProblem("share_config_invalid", ["body", "share_config", name], `${name}: ${message}`);
}
