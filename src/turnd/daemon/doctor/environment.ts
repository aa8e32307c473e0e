import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { join } from "node:path";
import { runTool } from "../process/run-tool.ts";
import { compareVersions } from "./clis.ts";
import { describeOwner, fault, ok, warn, type Subject, type Verdict } from "./check.ts";

const TOOL_TIMEOUT_MS = 10_000;
/** The first that runs TypeScript as it is. */
const OLDEST_NODE = "22.18.0";
/** By these paths turnd starts them. */
const NEEDED = ["/usr/bin/perl", "/usr/bin/setpriv", "/usr/bin/flock", "/usr/bin/find", "/usr/bin/test", "/bin/bash"];
/** Without these the CLIs' searches and snapshots fail. Source: docs/contracts/cli-a.md §8. */
const WANTED = ["git", "rg"];

export async function checkTools({ env }: Subject): Promise<Verdict> {
  const missing = await without(NEEDED);
  if (missing.length > 0) return fault(`missing: ${missing.join(", ")}`, "install them: every Debian has them");
  const places = (env["PATH"] ?? "").split(":").filter(Boolean);
  const absent: string[] = [];
  for (const tool of WANTED) {
    const gone = await without(places.map((place) => join(place, tool)));
    if (gone.length === places.length) absent.push(tool);
  }
  if (absent.length === 0) return ok("all are there");
  return warn(`not on PATH: ${absent.join(", ")}`, "install git and ripgrep: tools of the CLIs fail without them");
}

async function without(paths: readonly string[]): Promise<string[]> {
  const missing = await Promise.all(
    paths.map((path) =>
      access(path, constants.X_OK).then(
        () => [],
        () => [path],
      ),
    ),
  );
  return missing.flat();
}

export async function checkToken({ hasToken, tokenFile, runAs }: Subject): Promise<Verdict> {
  if (!hasToken) {
    return warn(
      "there is none: every program that reaches turnd, the CLIs' tools too, can run turns",
      "set TURND_TOKEN_FILE",
    );
  }
  if (tokenFile === undefined) return ok("it comes from TURND_TOKEN");
  const found = await stat(tokenFile);
  const readable = await runTool(["/usr/bin/test", "-r", tokenFile], { runAs, timeoutMs: TOOL_TIMEOUT_MS });
  const where = `${tokenFile} (${describeOwner(found)})`;
  // As one user nothing is hidden from the CLIs; `capabilities` warns of that.
  if (readable.code !== 0 || runAs.isSelf) return ok(`it comes from ${where}`);
  return fault(`the CLIs can read ${where}`, `chmod 600 ${tokenFile}, and give it to root`);
}

export async function checkNode(): Promise<Verdict> {
  return judgeNode(process.versions.node);
}

export function judgeNode(version: string): Verdict {
  return compareVersions(version, OLDEST_NODE) >= 0
    ? ok(version)
    : fault(`${version} is older than ${OLDEST_NODE}`, "install Node 22.18 or newer");
}

export async function checkLocale({ env }: Subject): Promise<Verdict> {
  return judgeLocale(env);
}

/** @see locale(7): the first of the three that is set decides */
export function judgeLocale(env: Readonly<Record<string, string>>): Verdict {
  const name = ["LC_ALL", "LC_CTYPE", "LANG"].find((variable) => env[variable]);
  const value = name === undefined ? "" : (env[name] ?? "");
  if (/utf-?8$/i.test(value)) return ok(`${name}=${value}`);
  const message = name === undefined ? "LANG is not set" : `${name}=${value} is not UTF-8`;
  return warn(`${message}: tools print what is not ASCII as question marks or escapes`, "set LANG=C.UTF-8");
}
