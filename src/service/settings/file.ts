import { readFileSync } from "node:fs";

/** A variable that keeps the service from starting: its name, its value and what is allowed. */
export class SettingsError extends Error {
  constructor(problems: readonly string[]) {
    super(problems.join("\n"));
    this.name = "SettingsError";
  }
}

/** A value that is in a file. @throws {SettingsError} when it cannot be read */
export function readFile(variable: string, file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8").trim();
  } catch (error) {
    throw new SettingsError([`${variable} cannot be read: ${error instanceof Error ? error.message : String(error)}`]);
  }
}
