import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { ParserEngines, ParserOptions } from "./parser.ts";

const DIRECTORIES = ["/usr/local/bin", "/usr/bin", "/bin"];
const LANGUAGE = /^[A-Za-z0-9_/]{2,40}$/;
const PROBE_MS = 10_000;

/** Looks for the optional programs. @throws when a path was given where no program is */
export async function findEngines(options: ParserOptions): Promise<ParserEngines> {
  const ocr = await findProgram("tesseract", options.ocr);
  const converter = await findProgram("soffice", options.converter);
  const installed = ocr === null ? [] : await installedLanguages(ocr);
  return { ocr, converter, ocrLanguages: options.ocrLanguages.filter((language) => installed.includes(language)) };
}

/** Those of the asked languages that can be read with; of those set, when none is asked for. */
export function chooseLanguages(asked: readonly string[], engines: ParserEngines): readonly string[] {
  const languages = asked.filter((language) => LANGUAGE.test(language) && engines.ocrLanguages.includes(language));
  return asked.length === 0 ? engines.ocrLanguages : languages;
}

async function findProgram(name: string, setting: string): Promise<string | null> {
  if (setting === "off") return null;
  if (setting !== "auto") {
    if (await isProgram(setting)) return setting;
    throw new Error(`no program at ${setting}`);
  }
  for (const directory of DIRECTORIES) {
    const path = join(directory, name);
    if (await isProgram(path)) return path;
  }
  return null;
}

async function isProgram(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

async function installedLanguages(tesseract: string): Promise<string[]> {
  const env = { PATH: DIRECTORIES.join(":"), LANG: "C.UTF-8" };
  const { stdout } = await promisify(execFile)(tesseract, ["--list-langs"], { env, timeout: PROBE_MS });
  return stdout.split("\n").map((line) => line.trim());
}
