import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ParseFailed } from "../failures.ts";
import type { Original } from "./format.ts";

/** Turns a document of an older or another program into docx or pptx, with LibreOffice. @throws {ParseFailed} */
export async function convert(original: Original, from: string, to: "docx" | "pptx"): Promise<Buffer> {
  if (original.soffice === null) throw new ParseFailed("converter_unavailable", "LibreOffice is not installed");
  const source = join(original.scratch, `document.${from}`);
  await writeFile(source, original.bytes);
  const output = await run(original.soffice, original.scratch, to, source);
  try {
    return await readFile(join(original.scratch, `document.${to}`));
  } catch (error) {
    throw new ParseFailed("corrupt", `LibreOffice made no document of it: ${output.trim()}`, { cause: error });
  }
}

async function run(program: string, scratch: string, to: string, source: string): Promise<string> {
  const profile = pathToFileURL(join(scratch, "profile")).href;
  const args = ["--headless", "--norestore", "--nologo", "--nolockcheck", `-env:UserInstallation=${profile}`];
  // Its own home: another user's profile may hold macros and addresses.
  const env = { PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8", HOME: scratch, TMPDIR: scratch };
  const child = spawn(program, [...args, "--convert-to", to, "--outdir", scratch, source], {
    stdio: ["ignore", "pipe", "pipe"],
    env,
    cwd: scratch,
  });
  let output = "";
  const note = (piece: Buffer): void => {
    output = (output + piece.toString()).slice(-2_000);
  };
  child.stdout.on("data", note);
  child.stderr.on("data", note);
  await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return output;
}
