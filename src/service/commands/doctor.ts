import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { describeIgnoredSwitch } from "../../kit/command-line/checked-certificates.ts";
import { connectTurnd } from "../sandboxes/connect-turnd.ts";
import { engineChoice } from "./migrate.ts";
import type { Settings } from "../settings/settings.ts";
import { describeUnknownSettings } from "../settings/unknown.ts";
import { openEngine } from "../storage/engine.ts";
import { findExposed, makePassable } from "../storage/data-directory.ts";
import { holdDataDirectory } from "../storage/lock.ts";
import { assertMigrated } from "../storage/migrate.ts";

interface CheckResult {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
}

/** Looks at everything the service needs of this machine; changes nothing but an absent data directory. @returns whether all is well */
export async function runDoctor(settings: Settings, out: { write(text: string): unknown }): Promise<boolean> {
  const checks: [string, () => Promise<string>][] = [
    ["flock", () => access("/usr/bin/flock", constants.X_OK).then(() => "/usr/bin/flock")],
    ["data directory", () => checkDirectory(settings.dataDirectory)],
    ["modes", () => checkModes(settings.dataDirectory)],
    ["database", () => checkDatabase(settings)],
    ...settings.values.SERVICE_TURND_URLS.map((url): [string, () => Promise<string>] => [
      `turnd ${url}`,
      () => checkTurnd(url, settings.turndToken),
    ]),
  ];
  for (const warning of [...describeUnknownSettings(settings.env), ...describeIgnoredSwitch(settings.env)])
    out.write(`warn settings: ${warning}\n`);
  let isWell = true;
  for (const [name, look] of checks) {
    const { ok, message } = await run(name, look);
    out.write(`${ok ? "ok  " : "FAIL"} ${name}: ${message}\n`);
    isWell &&= ok;
  }
  return isWell;
}

async function run(name: string, look: () => Promise<string>): Promise<CheckResult> {
  try {
    return { name, ok: true, message: await look() };
  } catch (error) {
    return { name, ok: false, message: error instanceof Error ? error.message : String(error) };
  }
}

async function checkDirectory(directory: string): Promise<string> {
  await makePassable(directory);
  await access(directory, constants.R_OK | constants.W_OK | constants.X_OK);
  return directory;
}

async function checkModes(directory: string): Promise<string> {
  const exposed = await findExposed(directory);
  if (exposed.length === 0) return "no other user reaches what is the service's";
  throw new Error(
    `other users reach ${exposed.join(", ")}: a start closes what is the service's, chmod go-rwx the rest`,
  );
}

async function checkDatabase(settings: Settings): Promise<string> {
  const choice = engineChoice(settings);
  if (choice.kind === "pglite") {
    const lock = await holdDataDirectory(join(settings.dataDirectory, "lock"));
    await lock.release();
    return `PGlite in ${settings.dataDirectory}, not in use`;
  }
  const engine = await openEngine(choice, { onConnectionLost: () => undefined });
  try {
    await assertMigrated(engine.db);
    return "PostgreSQL answers, its schema is this version's";
  } finally {
    await engine.close();
  }
}

async function checkTurnd(baseUrl: string, token: string | undefined): Promise<string> {
  const { ready, checks } = await connectTurnd({ baseUrl, token }).ready();
  const failed = checks.flatMap(({ name, ok, message }) => (ok ? [] : [`${name}: ${message ?? "no"}`]));
  if (!ready) throw new Error(failed.join("; "));
  return "ready";
}
