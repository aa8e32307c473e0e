import { chmodSync, copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./temporary.ts";

/** Environment of a daemon whose CLI B is the fake one, and whose CLI A is not there. */
export function fakeEnv(directory: string): Record<string, string> {
  const bin = join(directory, "bin");
  for (const name of ["fake-cli-b", "escapees"]) putProgram(bin, name);
  return {
    CLI_B_NAME: "fake-cli-b",
    // An explicit path: a script found on PATH would count as a Node wrapper.
    CLI_B_BIN: join(bin, "fake-cli-b"),
    PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
    CLI_B_API_KEY: "FAKE-KEY-FOR-TESTS",
    CLI_B_MODEL: "model-x",
    CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
    CLI_B_SANDBOX_MODE: "danger-full-access",
  };
}

/** Laid over it: a CLI A that stores more than it prints. */
export function fakeCliA(directory: string): Record<string, string> {
  const bin = join(directory, "bin");
  putProgram(bin, "fake-cli-a");
  return {
    CLI_A_NAME: "fake-cli-a",
    CLI_A_BIN: join(bin, "fake-cli-a"),
    CLI_A_PROVIDER: "lab",
    CLI_A_MODEL: "model-x",
    CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
    CLI_A_API_KEY: "FAKE-KEY-FOR-TESTS",
  };
}

function putProgram(bin: string, name: string): void {
  mkdirSync(bin, { recursive: true });
  // Never over a program that an earlier daemon's turn may be running.
  if (existsSync(join(bin, name))) return;
  copyFileSync(join(REPOSITORY, "test/programs", name), join(bin, name));
  chmodSync(join(bin, name), 0o755);
}
