import type { appWithPeople } from "./people.ts";

const METHODS = ["GET", "POST", "PUT", "DELETE"] as const;
type Method = (typeof METHODS)[number];

/** One status for each of: no token, owner, another user, admin elsewhere, admin of the owner's department, superadmin, owner's key. */
export type Statuses = readonly [number, number, number, number, number, number, number];

/** A call of a route, and what each role is answered. */
export interface RouteRow {
  readonly route: `${Method} /${string}`;
  readonly statuses: Statuses;
  /** What the route's parameters are (joined by `/` where there is more than one); made anew for each call. */
  readonly of?: () => Promise<string | number> | string | number;
  /** What is added as a query. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: () => unknown;
}

/** Everybody alike. */
export const allRoles = (status: number): Statuses => [status, status, status, status, status, status, status];
/** Everybody with a token alike. */
export const known = (status: number): Statuses => [401, status, status, status, status, status, status];
/** Of the owner alone: not even a superadmin reads another's conversation. Law: not yours is not there. */
export const own = (status: number): Statuses => [401, status, 404, 404, 404, 404, status];
/** The owner and those who manage the owner, and no other. */
export const MANAGED: Statuses = [401, 200, 403, 403, 200, 200, 200];
/** The same for another user. Law: not yours is not there. */
export const OWN_OR_MANAGED: Statuses = [401, 200, 404, 404, 200, 200, 200];
/** The same by a login alone. */
export const OWN_OR_MANAGED_BY_LOGIN: Statuses = [401, 200, 404, 404, 200, 200, 403];
/** Superadmins. */
export const SUPERADMIN: Statuses = [401, 403, 403, 403, 403, 200, 403];
/** Every admin. */
export const ADMINS: Statuses = [401, 403, 403, 200, 200, 200, 403];
/** Those who manage the owner. */
export const MANAGERS: Statuses = [401, 403, 403, 403, 200, 200, 403];
/** The admin whose it is, and superadmins; to all others it is not there. */
export const OF_ADMIN: Statuses = [401, 404, 404, 200, 404, 200, 404];
/** The same by a login alone. */
export const OF_ADMIN_BY_LOGIN: Statuses = [401, 404, 404, 200, 404, 200, 403];
/** Everybody with a token alike, but no key. */
export const knownByLogin = (status: number): Statuses => [401, status, status, status, status, status, 403];
/** The admin who made it, and superadmins. */
export const MAKER: Statuses = [401, 403, 403, 200, 403, 200, 403];
/** The owner, and superadmins. */
export const TASK: Statuses = [401, 200, 404, 404, 404, 200, 200];
/** An app with people in it. */
export type World = Awaited<ReturnType<typeof appWithPeople>>;

/** The parts of `METHOD /path/{parameter}`. */
function splitRoute(route: RouteRow["route"]): [Method, string] {
  const [method, path = ""] = route.split(" ");
  const found = METHODS.find((each) => each === method);
  if (found === undefined) throw new Error(`no such method: ${route}`);
  return [found, path];
}

/** The address that a row calls, with its parameters made anew. */
export async function urlOf({ route, of, query = "" }: RouteRow): Promise<[Method, string]> {
  const [method, path] = splitRoute(route);
  const parameters = String(await of?.()).split("/");
  return [method, path.replace(/\{\w+\}/g, () => parameters.shift() ?? "") + query];
}
