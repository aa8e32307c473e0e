import { chmodSync, copyFileSync, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { REPOSITORY } from "./temporary.ts";

/** Environment of a daemon whose CLI B is the fake one, and whose CLI A is not there. */
export function fakeEnv(directory: string): Record<string, string> {
  const bin = join(directory, "bin");
  mkdirSync(bin, { recursive: true });
  for (const name of ["fake-cli-b", "escapees"]) {
    // Never over a program that an earlier daemon's turn may be running.
    if (existsSync(join(bin, name))) continue;
    copyFileSync(join(REPOSITORY, "test/programs", name), join(bin, name));
    chmodSync(join(bin, name), 0o755);
  }
  return {
    CLI_B_NAME: "fake-cli-b",
    // Named outright: a script found on PATH would be taken for a Node wrapper.
    CLI_B_BIN: join(bin, "fake-cli-b"),
    PATH: `${bin}:/usr/local/bin:/usr/bin:/bin`,
    CLI_B_API_KEY: "FAKE-KEY-FOR-TESTS",
    CLI_B_MODEL: "model-x",
    CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
    CLI_B_SANDBOX_MODE: "danger-full-access",
  };
}
