import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { secretFingerprint } from "../auth/derive.ts";
import type { SecretName, Settings } from "../settings/settings.ts";
import { json } from "../storage/storable.ts";
import type { Storage } from "../storage/storage.ts";

/** The service's secrets; never in rows, logs or payloads. Law: secrets are derived, hashed or outside. */
export type Secrets = Readonly<Record<SecretName, string>>;

const Stored = z.object({ jwt: z.string().min(32), key: z.string().min(32), sandbox: z.string().min(32) });

/** Those of the environment; on PGlite and loopback what is missing is made once and kept in the data directory. */
export async function readSecrets({ secrets }: Pick<Settings, "secrets">, dataDirectory: string): Promise<Secrets> {
  const { jwt, key, sandbox } = secrets;
  if (jwt !== undefined && key !== undefined && sandbox !== undefined) return { jwt, key, sandbox };
  const made = await readOrMake(join(dataDirectory, "secrets.json"));
  return { jwt: jwt ?? made.jwt, key: key ?? made.key, sandbox: sandbox ?? made.sandbox };
}

async function readOrMake(path: string): Promise<Secrets> {
  const random = (): string => randomBytes(32).toString("base64url");
  try {
    const file = await open(path, "wx", 0o600);
    const made = { jwt: random(), key: random(), sandbox: random() };
    try {
      await file.writeFile(JSON.stringify(made));
      await file.sync();
    } finally {
      await file.close();
    }
    return made;
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
    return Stored.parse(JSON.parse(await readFile(path, "utf8")));
  }
}

/** Compares the secrets with those of the last start. @returns a warning for each that has changed */
export async function checkSecrets(storage: Storage, secrets: Secrets): Promise<string[]> {
  const warnings: string[] = [];
  for (const [name, secret] of Object.entries(secrets)) {
    const key = `secret_check:${name}`;
    const fingerprint = secretFingerprint(secret);
    const known = await storage.db.selectFrom("instance").select("value").where("key", "=", key).executeTakeFirst();
    if (known !== undefined && known.value !== fingerprint)
      warnings.push(`SERVICE_${name.toUpperCase()}_SECRET is not the one of the last start`);
    await storage.db
      .insertInto("instance")
      .values({ key, value: json(fingerprint) })
      .onConflict((conflict) => conflict.column("key").doUpdateSet({ value: json(fingerprint) }))
      .execute();
  }
  return warnings;
}
