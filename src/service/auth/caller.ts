import { ApiProblem } from "../protocol/problems.ts";
import type { Role } from "../protocol/auth.ts";

/** Who calls, as the rows are at this moment. A key's caller is its user: it grants nothing beyond. */
export interface Caller {
  readonly userId: number;
  readonly username: string;
  readonly role: Role;
  readonly departmentId: number | null;
  readonly credential: { readonly type: "jwt" } | { readonly type: "api_key"; readonly id: number };
}

/** The credential that a request came with, by its row: what a key may not do stays forbidden to what it has queued. */
export function credentialOf(apiKeyId: number | null): Caller["credential"] {
  return apiKeyId === null ? { type: "jwt" } : { type: "api_key", id: apiKeyId };
}

/** How a caller is named in the audit. */
export function describeCredential({ credential }: Caller): string {
  return credential.type === "jwt" ? "jwt" : `api_key:${credential.id}`;
}

/** @throws {ApiProblem} role_required */
export function requireRole(caller: Caller, ...roles: readonly Role[]): void {
  if (!roles.includes(caller.role)) throw new ApiProblem("role_required", `this needs the role ${roles.join(" or ")}`);
}

/**
 * What outlives a key is given by a person who has logged in: users, other keys, logins of clients, webhooks. A key could
 * otherwise give itself what it has not, and go on after its end.
 *
 * @throws {ApiProblem} login_required
 */
export function requireLogin({ credential }: Caller): void {
  if (credential.type === "jwt") return;
  throw new ApiProblem("login_required", "no API key may do this: log in, and send the token instead of a key");
}

/** A user as far as rules look at one. */
export interface Managed {
  readonly id: number;
  readonly role: Role;
  readonly department_id: number | null;
}

/** Whether a caller manages a user: superadmins all, admins the `user`s of their own department. */
export function managesUser(caller: Caller, user: Managed): boolean {
  if (caller.role === "superadmin") return true;
  return (
    caller.role === "admin" &&
    user.role === "user" &&
    user.department_id !== null &&
    user.department_id === caller.departmentId
  );
}
