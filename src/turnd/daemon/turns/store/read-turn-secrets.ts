import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { McpServers } from "../../../protocol/index.ts";
import { createRedactor, type Redact } from "../../event-log/redact.ts";
import { secretsOfServers } from "../../executors/secrets/server-secrets.ts";
import { readRegular } from "../../storage/read-regular.ts";

/** The one field that is read; a recording that people have written need not have the others. */
const TurnJson = z.object({ mcp_servers: McpServers.optional().catch(undefined) }).catch({});

/**
 * Adds to a redactor what the requests of turns brought with them, for a reader of their directories without a daemon.
 *
 * @param directories - of turns; one without a `turn.json` that can be read holds nothing to take out
 */
export async function redactTurns(redact: Redact, directories: readonly string[]): Promise<Redact> {
  const found = await Promise.all(directories.map(readSecrets));
  const redactOwn = createRedactor(new Set(found.flat()));
  return (text) => redactOwn(redact(text));
}

async function readSecrets(directory: string): Promise<string[]> {
  let read: unknown;
  try {
    read = JSON.parse((await readRegular(join(directory, "turn.json"))).toString("utf8"));
  } catch {
    // Opening the recording reports what is wrong with it.
    return [];
  }
  return secretsOfServers(TurnJson.parse(read).mcp_servers ?? {});
}

/** The secrets that a turn's request brought with it, from its directory; none where it cannot be read. */
export function readSecretsOf(directory: string): string[] {
  try {
    const file = openSync(join(directory, "turn.json"), constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!fstatSync(file).isFile()) return [];
      return secretsOfServers(TurnJson.parse(JSON.parse(readFileSync(file, "utf8"))).mcp_servers ?? {});
    } finally {
      closeSync(file);
    }
  } catch {
    // Of a turn whose file cannot be read nothing that it was given is known, nor shown.
    return [];
  }
}
