import { sql } from "kysely";
import type { Settings } from "../settings/settings.ts";
import type { Storage } from "../storage/storage.ts";

/** Where turns run, as callers see it. */
export interface SandboxFacts {
  readonly kind: Settings["values"]["SERVICE_SANDBOX"];
  /** Who shares one: all users, or all threads of a user; none: each thread has its own. */
  readonly shared_by: "all_users" | "threads_of_a_user" | "none";
}

/** Who shares a sandbox, by the settings. */
export function sandboxFacts({ values }: Settings): SandboxFacts {
  const { SERVICE_SANDBOX: kind, SERVICE_SANDBOX_SCOPE: scope } = values;
  if (kind === "embedded" || kind === "static") return { kind, shared_by: "all_users" };
  return { kind, shared_by: scope === "user" ? "threads_of_a_user" : "none" };
}

/** A warning once one user's turns can reach what another's have left; undefined while no users share one. */
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
