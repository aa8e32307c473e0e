import { rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { describeFault, runService } from "../src/service/commands/run.ts";
import { readSettings } from "../src/service/settings/settings.ts";
import { makePassable, restrict } from "../src/service/storage/data-directory.ts";
import { DataDirectoryHeld, holdDataDirectory } from "../src/service/storage/lock.ts";
import { makeUserDirectory } from "../src/turnd/daemon/process/user-files/user-directory.ts";
import { chooseCliUser } from "./cli-user.ts";
import { readOwner, runAsOf } from "./fill-environment.ts";
import { anywhereVariables, configuredClis, scriptableClis, scriptedVariables } from "./generate/provider-variables.ts";
import { makePassword } from "./service/admin-password.ts";
import { keepScriptedModel } from "./service/model-child.ts";
import { nextSteps } from "./service/next-steps.ts";

// What `npm run service` runs: the agent service on a bare machine. Variables that are set win over everything.
const uid = process.getuid?.() ?? 0;
const say = (text: string): void => console.error(`svc: ${text}`);
const isSet = (name: string): boolean => (process.env[name] ?? "") !== "";
const fill = (name: string, value: string): void => {
  if (!isSet(name)) process.env[name] = value;
};

/** The exit code, once the service has stopped. */
async function start(): Promise<0 | 1> {
  fill("SERVICE_DATA_DIR", uid === 0 ? "/var/lib/svc" : join(homedir(), ".local/state/svc"));
  const data = process.env["SERVICE_DATA_DIR"] ?? "";
  // Each mode that others need is given.
  process.umask(0o077);
  await makePassable(data);
  // Nothing is written where another user could read or exchange it.
  await restrict(data);
  // Before anything else is begun: a second one must not take the first one's model or password from it.
  const lock = await holdDataDirectory(join(data, "npm-run-service.lock"));
  process.once("exit", () => void lock.release());
  if (uid !== 0 && !isSet("SERVICE_ALLOW_SHARED_USER")) {
    process.env["SERVICE_ALLOW_SHARED_USER"] = "true";
    say(
      "not root: the CLIs run as this user too and could read the service's secrets (SERVICE_ALLOW_SHARED_USER=true)",
    );
  }
  // Checked before anything is made, so that a wrong variable leaves nothing behind.
  const given = readSettings({ ...process.env, SERVICE_ADMIN_PASSWORD_FILE: undefined }, uid);
  const ownFile = isSet("SERVICE_ADMIN_PASSWORD_FILE") ? undefined : join(data, "admin-password");
  const isNewPassword = ownFile !== undefined && (await makePassword(ownFile));
  if (ownFile !== undefined) process.env["SERVICE_ADMIN_PASSWORD_FILE"] = ownFile;
  if (given.values.SERVICE_SANDBOX === "embedded") {
    await chooseUser(data);
    await makeHome(data);
    await useScriptedModel(data);
  }
  return runService("serve", readSettings(process.env, uid), ({ url, hasMadeAdministrator }) => {
    const base = (url ?? "").replace("127.0.0.1", "localhost");
    if (isNewPassword && !hasMadeAdministrator) {
      // Made before it was known that there are accounts: no account has it.
      void rm(ownFile, { force: true });
      say(`data in ${data}, with accounts whose administrator's password file was removed; ${base}/docs`);
      return;
    }
    const file = process.env["SERVICE_ADMIN_PASSWORD_FILE"] ?? "";
    say(`data in ${data}; the administrator is "admin", the password of the first start in ${file}`);
    console.error(nextSteps(base, file));
  });
}

async function chooseUser(data: string): Promise<void> {
  if (uid !== 0 || isSet("TURND_RUN_AS")) return;
  const directories = [process.env["TURND_HOME"] ?? "", join(data, "home")].filter((path) => path !== "");
  const { runAs, note } = await chooseCliUser({ state: join(data, "turnd"), directories }, true);
  process.env["TURND_RUN_AS"] = runAs;
  if (note !== undefined) say(note);
}

/** The CLIs' home in the data directory, so that a backup of that holds all, and two services share nothing. */
async function makeHome(data: string): Promise<void> {
  if (isSet("TURND_HOME")) return;
  const runAs = process.env["TURND_RUN_AS"] ?? "self";
  const owner = readOwner(runAs) ?? { uid, gid: process.getgid?.() ?? 0 };
  const home = join(data, "home");
  await makeUserDirectory(home, runAsOf(owner));
  process.env["TURND_HOME"] = home;
}

/** A CLI without a provider talks to the scripted model. */
async function useScriptedModel(directory: string): Promise<void> {
  const configured = configuredClis(process.env);
  const lacking = scriptableClis().filter((cli) => !configured.includes(cli));
  if (lacking.length === 0) return;
  const port = isSet("SVC_SCRIPTED_MODEL_PORT") ? Number(process.env["SVC_SCRIPTED_MODEL_PORT"]) : undefined;
  const url = await keepScriptedModel({ directory, port, say });
  say(
    `no provider is set for ${lacking.join(" and ")}: a scripted model, which is no language model, answers at ${url}`,
  );
  Object.assign(process.env, scriptedVariables(url, lacking));
  // Its commands are the scripted model's own; CLI B's sandbox works on few machines.
  for (const [name, value] of Object.entries(anywhereVariables(lacking))) fill(name, value);
}

try {
  process.exit(await start());
} catch (error) {
  const isHeld = error instanceof DataDirectoryHeld;
  say(
    isHeld
      ? `${process.env["SERVICE_DATA_DIR"]} is in use by another \`npm run service\` (${error.holder}): stop it, or set SERVICE_DATA_DIR and SERVICE_PORT`
      : describeFault(error),
  );
  // At once: a model that was started must not keep a failed start alive.
  process.exit(1);
}
