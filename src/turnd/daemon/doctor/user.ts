import { readFile } from "node:fs/promises";
import { describeLogin, LOGIN_REMEDY, readAccounts } from "../process/accounts.ts";
import { runTool } from "../process/run-tool.ts";
import { fault, ok, warn, type Subject, type Verdict } from "./check.ts";

const TOOL_TIMEOUT_MS = 10_000;

/** Bits of /proc/<pid>/status. @see capabilities(7) */
const CAPABILITIES = {
  CHOWN: 0,
  DAC_OVERRIDE: 1,
  DAC_READ_SEARCH: 2,
  KILL: 5,
  SETGID: 6,
  SETUID: 7,
  SETPCAP: 8,
} as const;
type Capability = keyof typeof CAPABILITIES;

export async function checkUser({ runAs, home, accountsFile }: Subject): Promise<Verdict> {
  const accounts = await readAccounts(accountsFile);
  const login = describeLogin(accounts, runAs, home);
  if (login !== undefined) return warn(login, LOGIN_REMEDY);
  const name = accounts.find(({ uid }) => uid === runAs.uid)?.name;
  if (name !== undefined) return ok(`uid ${runAs.uid} is ${name}`);
  const message = `uid ${runAs.uid} has no entry in /etc/passwd`;
  const remedy = `add one (useradd --uid ${runAs.uid}), or name another user in TURND_RUN_AS`;
  // Platforms that give each container a uid of its own write no entry, and the CLIs run all the same.
  return runAs.isSelf ? warn(message, remedy) : fault(message, remedy);
}

export async function checkCapabilities({ runAs }: Subject): Promise<Verdict> {
  if (runAs.isSelf) {
    return warn(
      `the CLIs run as turnd's own user (uid ${runAs.uid}): they could read its state and end it`,
      "start turnd as root, and leave TURND_RUN_AS to another user",
    );
  }
  const missing = judgeCapabilities(readCapabilities(await readFile("/proc/self/status", "utf8")));
  if (missing !== undefined) return missing;
  const result = await runTool(["/usr/bin/id", "-u"], { runAs, timeoutMs: TOOL_TIMEOUT_MS });
  return result.code === 0 && result.stdout === String(runAs.uid)
    ? ok(`root becomes uid ${runAs.uid}, and has what it needs besides`)
    : fault(`turnd cannot become uid ${runAs.uid}: ${result.stderr || "setpriv failed"}`, "start turnd as root");
}

/** The capabilities in effect, of those that turnd knows. */
export function readCapabilities(status: string): Set<Capability> {
  const mask = BigInt(`0x${/^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1] ?? "0"}`);
  const names: Capability[] = ["CHOWN", "DAC_OVERRIDE", "DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SETPCAP"];
  return new Set(names.filter((name) => (mask >> BigInt(CAPABILITIES[name])) & 1n));
}

/** What root lacks. Measured with turns that were started, cancelled and deleted under smaller and smaller sets. */
export function judgeCapabilities(has: ReadonlySet<Capability>): Verdict | undefined {
  const needed = ["SETUID", "SETGID", "CHOWN", "KILL"] as const;
  const missing: string[] = needed.filter((name) => !has.has(name));
  if (!has.has("DAC_OVERRIDE") && !has.has("DAC_READ_SEARCH")) missing.push("DAC_READ_SEARCH");
  if (missing.length > 0) return fault(`root lacks ${missing.join(", ")}`, `add ${missing.join(", ")} (--cap-add)`);
  if (has.has("SETPCAP")) return undefined;
  return warn("root lacks SETPCAP: the CLIs keep a bounding set they cannot use", "add SETPCAP (--cap-add)");
}
