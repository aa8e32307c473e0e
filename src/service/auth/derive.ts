import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Quota } from "../protocol/common.ts";

/** A key for one purpose, out of a secret of the environment. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", Buffer.from(secret, "utf8"), Buffer.alloc(0), purpose, 32));
}

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

/** Makes API keys' secrets again and again from what identifies them. Source: docs/service.md. */
export interface KeyDerivation {
  /** Of a key by its random uid: no other key has this secret, in this database or in another. */
  secretOf(uid: string): string;
  /** Of a key without one. A user's id and request id are another's after a restore, so no new key has it. */
  secretOfVersion1(userId: number, requestId: string): string;
}

export function createKeyDerivation(masterSecret: string): KeyDerivation {
  const [version1, version2] = [
    deriveKey(masterSecret, "svkey/v1 derivation"),
    deriveKey(masterSecret, "svkey/v2 derivation"),
  ];
  const derive = (key: Buffer, ...message: readonly string[]): string => {
    const digest = createHmac("sha256", key).update(Buffer.concat(message.map(lengthPrefixed)));
    return `svkey_${digest.digest("hex").slice(0, 48)}`;
  };
  return {
    secretOf: (uid) => derive(version2, "svkey-v2", uid),
    secretOfVersion1: (userId, requestId) => derive(version1, "svkey-v1", String(userId), requestId),
  };
}

/** With its length before it, no two lists of texts give the same bytes. */
function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** What makes a key another one. */
export interface HashedIntent {
  readonly userId: number;
  readonly name: string;
  readonly expiresAt: Date | null;
  readonly departmentId?: number | null | undefined;
  readonly quota?: Quota | undefined;
}

/** What a creation was meant to be: a repeat has to mean the same. */
export function keyIntentHash({ name, expiresAt, userId, departmentId, quota = {} }: HashedIntent): Buffer {
  const { runs_per_day: runs, tokens_per_day: tokens, active_runs: active } = quota;
  const limits = [runs ?? null, tokens ?? null, active ?? null];
  const expiry = expiresAt?.toISOString() ?? null;
  return sha256(JSON.stringify(["svkey-intent-v2", name, expiry, userId, departmentId ?? null, limits]));
}

/** Of a key of version 1, which has kept no more of its intent. */
export function keyIntentHashOfVersion1({ name, expiresAt, userId }: HashedIntent): Buffer {
  return sha256(JSON.stringify(["svkey-intent-v1", name, expiresAt?.toISOString() ?? null, userId]));
}

/** The token of one generation of a sandbox. */
export function sandboxToken(secret: string, id: string, generation: number): string {
  const key = deriveKey(secret, "sandbox/v1");
  return createHmac("sha256", key)
    .update(lengthPrefixed(id))
    .update(lengthPrefixed(String(generation)))
    .digest("base64url");
}

/** What the tools of a run's turn are asked with; good while the run is `running`. */
export function runToken(masterSecret: string, runId: string): string {
  const key = deriveKey(masterSecret, "agent-tools/v1");
  const digest = createHmac("sha256", key).update(lengthPrefixed(runId)).digest("base64url");
  return `svrun_${runId}.${digest}`;
}

/** The run of a token that this service gave; undefined for anything else. Compared in constant time. */
export function runOfToken(masterSecret: string, token: string): string | undefined {
  const runId = /^svrun_([0-9a-f-]{36})\.[\w-]{43}$/.exec(token)?.[1];
  if (runId === undefined) return undefined;
  return timingSafeEqual(Buffer.from(runToken(masterSecret, runId)), Buffer.from(token)) ? runId : undefined;
}

/** The secret that one version of a webhook is signed with. */
export function webhookSecret(masterSecret: string, id: string, version: number): string {
  const key = deriveKey(masterSecret, "webhook/v1");
  const digest = createHmac("sha256", key)
    .update(lengthPrefixed(id))
    .update(lengthPrefixed(String(version)))
    .digest("base64");
  return `whsec_${digest}`;
}

/** Says whether a secret of the environment is the one of last time, and nothing else about it. */
export function secretFingerprint(secret: string): string {
  return createHmac("sha256", deriveKey(secret, "fingerprint/v1")).update("check").digest("hex").slice(0, 16);
}
