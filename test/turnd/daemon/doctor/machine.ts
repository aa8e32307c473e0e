import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { secretsOfEnvironment } from "../../../../src/turnd/daemon/serve/configurations.ts";
import { runDoctor } from "../../../../src/turnd/commands/doctor.ts";
import { createRedactor } from "../../../../src/turnd/daemon/event-log/redact.ts";
import { readSettings, type Settings } from "../../../../src/turnd/daemon/settings.ts";
import { fakeEnv } from "../../../harness/fake-env.ts";
import { CLI_USER, REPOSITORY, temporaryDirectory, userDirectory } from "../../../harness/temporary.ts";

/** Only root can give files to other users. */
export const IS_ROOT = !CLI_USER.isSelf;
export const KEY = "FAKE-KEY-FOR-TESTS";

/** What `turnd doctor --json` prints. */
export const Report = z.strictObject({
  ok: z.boolean(),
  version: z.string(),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      level: z.enum(["ok", "warn", "fault"]),
      message: z.string(),
      remedy: z.string().optional(),
    }),
  ),
});

/** Where a machine under test keeps its files, and its environment. */
export interface Machine {
  readonly directory: string;
  readonly home: string;
  readonly state: string;
  readonly workspace: string;
  readonly env: Record<string, string>;
  readonly sandboxDirectory?: string;
  /** In the place of /etc/passwd. */
  readonly accountsFile: string;
}

/** A sound set-up in a directory of its own: both CLIs are fakes that answer as the real ones do. */
export function machine(onDone: (cleanUp: () => void) => void = onTestFinished): Machine {
  const directory = temporaryDirectory(onDone);
  const env = fakeEnv(directory);
  const bin = join(directory, "bin");
  fakeCli(join(bin, "fake-cli-a"), "1.14.34", READS);
  fakeCli(join(bin, "rg"), "14.1.0", "exit 0");
  const home = userDirectory(join(directory, "home"));
  chmodSync(home, 0o700);
  const state = join(directory, "state");
  mkdirSync(state);
  chmodSync(state, 0o711);
  const tokenFile = join(directory, "token");
  writeFileSync(tokenFile, "token-of-this-test\n", { mode: 0o600 });
  // Uid 1000 of the machine that runs the tests may be a person.
  const accountsFile = join(directory, "passwd");
  const { uid, gid } = CLI_USER;
  writeFileSync(accountsFile, `root:x:0:0::/root:/bin/sh\nclis:x:${uid}:${gid}::/nonexistent:/usr/sbin/nologin\n`);
  return {
    directory,
    accountsFile,
    home,
    state,
    workspace: userDirectory(join(directory, "workspace")),
    env: {
      ...env,
      CLI_A_NAME: "fake-cli-a",
      CLI_A_BIN: join(bin, "fake-cli-a"),
      CLI_A_PROVIDER: "lab",
      CLI_A_MODEL: "m",
      CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
      CLI_A_API_KEY: KEY,
      LANG: "C.UTF-8",
      TURND_TOKEN_FILE: tokenFile,
      TURND_PORT: "0",
    },
  };
}

/** What a fake CLI A does with a configuration that is none, as the real one. */
export const READS = `read -r line <"$XDG_CONFIG_HOME/fake-cli-a/config.json"
case "$line" in "{turnd:"*) echo "Error: not valid JSON" >&2; exit 1 ;; esac
exit 0`;

/** A program that prints its version, and otherwise does what the test chooses. */
export function fakeCli(path: string, version: string, otherwise: string, first = ""): void {
  const prove = `if [ -n "$TURND_GUARD_PROOF" ]; then echo "turnd: this CLI loads no code but its own" >&2; fi`;
  const answer = `if [ "$1" = --version ]; then echo "fake ${version}"; ${prove}; exit 0; fi`;
  writeFileSync(path, `#!/bin/sh\n${first}\n${answer}\n${otherwise}\n`);
  chmodSync(path, 0o755);
}

/** Looks at a machine, and shows that neither the key nor the token is printed. */
export async function doctor(
  { home, state, workspace, env, accountsFile, sandboxDirectory = join(REPOSITORY, "sandbox") }: Machine,
  isJson: boolean,
): Promise<{ code: number; text: string }> {
  const variables = {
    TURND_HOME: home,
    TURND_STATE_DIR: state,
    TURND_WORKSPACE: workspace,
    TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000",
    ...env,
  };
  const out = new PassThrough();
  const self = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const readEnvironment = (): Settings => readSettings(variables, self);
  const code = await runDoctor({
    readSettings: readEnvironment,
    executors: EXECUTORS,
    sandboxDirectory,
    accountsFile,
    redact: createRedactor(secretsOfEnvironment(variables, self, EXECUTORS)),
    isJson,
    out,
    signal: new AbortController().signal,
  });
  out.end();
  const printed = await text(out);
  for (const secret of [KEY, "token-of-this-test"]) expect(printed).not.toContain(secret);
  return { code, text: printed };
}

/** What the doctor says that is not ok, by name. */
export async function findings(subject: Machine): Promise<Record<string, string>> {
  const { text: printed, code } = await doctor(subject, true);
  const { ok, checks } = Report.parse(JSON.parse(printed));
  const bad = checks.filter(({ level }) => level !== "ok");
  expect([ok, code]).toEqual(bad.some(({ level }) => level === "fault") ? [false, 1] : [true, 0]);
  for (const { remedy } of bad) expect(remedy).toBeTruthy();
  return Object.fromEntries(bad.map(({ name, level, message }) => [name, `${level}: ${message}`]));
}
