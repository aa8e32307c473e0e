import { sql } from "kysely";
import type { Settings } from "../settings/settings.ts";
import type { Storage } from "../storage/storage.ts";

/** What callers are told of where turns run. */
export interface SandboxFacts {
  readonly kind: Settings["values"]["SERVICE_SANDBOX"];
  /** Who shares one: all users, all threads of a user, or nobody. */
  readonly shared_by: "all_users" | "threads_of_a_user" | "nobody";
}

/** What the settings say of who shares a sandbox. */
export function sandboxFacts({ values }: Settings): SandboxFacts {
  const { SERVICE_SANDBOX: kind, SERVICE_SANDBOX_SCOPE: scope } = values;
  if (kind === "embedded" || kind === "static") return { kind, shared_by: "all_users" };
  return { kind, shared_by: scope === "user" ? "threads_of_a_user" : "nobody" };
}

/** A warning once one user's turns can reach what another's have left; undefined while nobody shares anything. */
export async function warnOfSharing(storage: Storage, settings: Settings): Promise<string | undefined> {
  const { kind, shared_by } = sandboxFacts(settings);
  if (shared_by !== "all_users") return undefined;
  const { users } = await storage.db
    .selectFrom("account")
    .select(sql<number>`count(*)::int`.as("users"))
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  if (users < 2) return undefined;
  return `${users} users share the ${kind} sandboxes: a turn of one can reach files of another's; SERVICE_SANDBOX=docker gives each thread its own`;
}
