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
