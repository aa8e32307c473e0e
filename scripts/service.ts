import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { startScriptedModel } from "../src/scripted-model/server.ts";

// What `npm run service` runs: the agent service on a bare machine. Variables that are set win over everything.
const isRoot = process.getuid?.() === 0;
const say = (text: string): void => console.error(`svc: ${text}`);
const fill = (name: string, value: string): void => {
  if (process.env[name] === undefined || process.env[name] === "") process.env[name] = value;
};

fill("SERVICE_DATA_DIR", isRoot ? "/var/lib/svc" : join(homedir(), ".local/state/svc"));
const data = process.env["SERVICE_DATA_DIR"] ?? "";
await mkdir(data, { recursive: true, mode: 0o711 });

const passwordFile = process.env["SERVICE_ADMIN_PASSWORD_FILE"] ?? join(data, "admin-password");
if (process.env["SERVICE_ADMIN_PASSWORD_FILE"] === undefined) {
  try {
    await writeFile(passwordFile, `${randomBytes(18).toString("base64url")}\n`, { flag: "wx", mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== "EEXIST") throw error;
  }
  process.env["SERVICE_ADMIN_PASSWORD_FILE"] = passwordFile;
}
if (!isRoot && process.env["SERVICE_ALLOW_SHARED_USER"] === undefined) {
  process.env["SERVICE_ALLOW_SHARED_USER"] = "true";
  say("not root: the CLIs run as this user too and could read the service's secrets (SERVICE_ALLOW_SHARED_USER=true)");
}
await useScriptedModel();

const base = `http://localhost:${process.env["SERVICE_PORT"] ?? "5050"}`;
say(`data in ${data}; the superadmin is admin, the password in ${passwordFile}`);
say("when it says listening:");
console.error(`
  TOKEN=$(curl -s ${base}/api/auth/token -d username=admin --data-urlencode "password=$(cat ${passwordFile})" | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')
  curl -s ${base}/api/user/apikey/ -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"request_id":"my-first-key","name":"first"}'

The API is described at ${base}/docs.
`);

process.argv.splice(2, Infinity, "serve");
// In this process, so that SIGTERM arrives.
await import("../src/service/main.ts");

/** A CLI without a provider talks to the scripted model, at a port of its own so that a restart finds it again. */
async function useScriptedModel(): Promise<void> {
  const isGiven = (pattern: RegExp): boolean =>
    Object.entries(process.env).some(([name, value]) => pattern.test(name) && value !== "");
  const lacksA = !isGiven(/^CLI_A_(API_KEY|MODEL|PROVIDER|BASE_URL|PROVIDER_NPM|JSON)$/);
  const lacksB = !isGiven(/^CLI_B_(API_KEY|ENV_KEY|MODEL|BASE_URL|CONFIG_TOML)$/);
  if (!lacksA && !lacksB) return;
  const port = Number(process.env["SVC_SCRIPTED_MODEL_PORT"] ?? 5051);
  const { url } = await startScriptedModel({ port });
  const names = [lacksA ? "cli-a" : "", lacksB ? "cli-b" : ""].filter(Boolean).join(" and ");
  say(`no provider is set for ${names}: a scripted model at ${url} answers, which understands nothing`);
  if (lacksA)
    Object.assign(process.env, {
      CLI_A_PROVIDER: "scripted",
      CLI_A_MODEL: "scripted",
      CLI_A_BASE_URL: url,
      CLI_A_API_KEY: "no-key-needed",
    });
  if (!lacksB) return;
  Object.assign(process.env, { CLI_B_MODEL: "scripted", CLI_B_BASE_URL: url, CLI_B_API_KEY: "no-key-needed" });
  // Its commands are the scripted model's own; CLI B's sandbox works on few machines.
  fill("CLI_B_SANDBOX_MODE", "danger-full-access");
}
