import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect } from "vitest";
import { REPOSITORY } from "./temporary.ts";

const PINS = join(REPOSITORY, "test/pins/node_modules");
const TSC = join(REPOSITORY, "node_modules/.bin/tsc");

/**
 * Writes a client's types from a description as `schema.ts`, beside programs that use them, and checks all strictly.
 *
 * The generator gets no flag: what its users get by default has to be right.
 * @param directory - an empty one
 * @param document - path or URL of the description
 * @param programs - by the names of their files; they may import `openapi-fetch` and `openai`
 */
export async function makeClients(
  directory: string,
  document: string,
  programs: Readonly<Record<string, string>>,
): Promise<void> {
  symlinkSync(PINS, join(directory, "node_modules"));
  const generate = [join(PINS, ".bin/openapi-typescript"), document, "-o", join(directory, "schema.ts")];
  await execa(process.execPath, generate, { env: { REDOCLY_TELEMETRY: "off" } });
  writeFileSync(join(directory, "package.json"), '{"type":"module"}');
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(directory, name), text);
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "es2024",
    module: "nodenext",
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    lib: ["es2024", "dom", "dom.iterable", "dom.asynciterable"],
    types: ["node"],
    typeRoots: [join(REPOSITORY, "node_modules/@types")],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, files: Object.keys(programs) }));
  const { exitCode, all } = await execa(TSC, ["-p", directory], { all: true, reject: false });
  expect([exitCode, all]).toEqual([0, ""]);
}

/** Runs one of them, and returns what it prints. */
export async function runClient(
  directory: string,
  program: string,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const { stdout } = await execa(process.execPath, [join(directory, program)], { env });
  return stdout;
}
