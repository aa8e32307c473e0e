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
