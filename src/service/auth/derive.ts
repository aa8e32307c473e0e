import { createHash, createHmac, hkdfSync, timingSafeEqual } from "node:crypto";

/** A key for one purpose, out of a secret of the environment. */
export function deriveKey(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync("sha256", Buffer.from(secret, "utf8"), Buffer.alloc(0), purpose, 32));
}

export function sha256(text: string): Buffer {
  return createHash("sha256").update(text, "utf8").digest();
}

/** Makes API keys' secrets again and again from what identifies their creation. Source: docs/service.md. */
export interface KeyDerivation {
  /** The same for the same user and request id for as long as the master secret is. */
  secretOf(userId: number, requestId: string): string;
}

export function createKeyDerivation(masterSecret: string): KeyDerivation {
  const key = deriveKey(masterSecret, "svkey/v1 derivation");
  return {
    secretOf(userId, requestId) {
      const message = Buffer.concat([
        lengthPrefixed("svkey-v1"),
        lengthPrefixed(String(userId)),
        lengthPrefixed(requestId),
      ]);
      return `svkey_${createHmac("sha256", key).update(message).digest("hex").slice(0, 48)}`;
    },
  };
}

/** With its length before it, no two lists of texts give the same bytes. */
function lengthPrefixed(text: string): Buffer {
  const bytes = Buffer.from(text, "utf8");
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** What a creation was meant to be: a repeat has to mean the same. */
export function keyIntentHash(intent: { name: string; expiresAt: Date | null; userId: number }): Buffer {
  return sha256(
    JSON.stringify(["svkey-intent-v1", intent.name, intent.expiresAt?.toISOString() ?? null, intent.userId]),
  );
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
