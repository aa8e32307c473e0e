import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";
import { LABEL } from "../harness/provide-image.ts";
import { describeImage, KEY, TOKEN } from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const Report = z.object({
  ok: z.boolean(),
  checks: z.array(z.object({ name: z.string(), level: z.string(), message: z.string() })),
});

/** What keeps the machine's engine from giving CLI B its namespaces is reported of every container without our profile. */
const NO_SANDBOX = { "cli-b-sandbox": expect.stringMatching(/^warn: .*(bwrap|bubblewrap)/) };

/** What is not ok in a report, by name; and that it agrees with the exit code and holds no secret. */
function read({ stdout, exitCode }: { stdout: string; exitCode?: number | undefined }): Record<string, string> {
  for (const secret of [KEY, TOKEN]) expect(stdout).not.toContain(secret);
  const { ok, checks } = Report.parse(JSON.parse(stdout));
  expect([ok, exitCode]).toEqual(checks.some(({ level }) => level === "fault") ? [false, 1] : [true, 0]);
  const bad = checks.filter(({ level }) => level !== "ok");
  return Object.fromEntries(bad.map(({ name, level, message }) => [name, `${level}: ${message}`]));
}

interface Broken {
  /** Options of `docker run`. */
  readonly options?: readonly string[];
  /** Run by root before the doctor. */
  readonly script?: string;
  /** What is broken is CLI A, which takes seconds to start; else a script stands in for it. */
  readonly isCliA?: boolean;
}

/** Answers for its version, and for turnd's guard, as a CLI in which that works. */
const STAND_IN =
  "printf '#!/bin/sh\\necho turnd: this CLI loads no code but its own >&2\\necho 1.14.34\\n' >/run/cli-a; " +
  "chmod 755 /run/cli-a; export CLI_A_BIN=/run/cli-a";

/** Starts a container that is broken in one way, without its entrypoint, which would refuse it, and examines it. */
async function examine(
  { options = [], script = ":", isCliA = false }: Broken,
  init: readonly [string, ...string[]] = ["/usr/bin/tini", "--"],
) {
  const { tag, run } = inject("image");
  const [entrypoint, ...args] = [
    ...init,
    "/bin/sh",
    "-c",
    `${isCliA ? ":" : STAND_IN}\n${script}\nturnd doctor --json; exit $?`,
  ];
  const common = ["--rm", "--label", `${LABEL}=${run}`, "--env", `TURND_TOKEN=${TOKEN}`];
  const command = ["run", ...common, ...options, "--entrypoint", entrypoint, tag, ...args];
  return read(await execa("docker", command, { reject: false, stdin: "ignore", timeout: 110_000 }));
}

describeImage("turnd doctor", () => {
  test("finds nothing to say of a sandbox that serves, with both CLIs configured and the profile for CLI B", async () => {
    const { tag, run } = inject("image");
    const env = {
      TURND_TOKEN: TOKEN,
      CLI_A_PROVIDER: "lab",
      CLI_A_MODEL: "m",
      CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
      CLI_A_API_KEY: KEY,
      CLI_B_MODEL: "m",
      CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
      CLI_B_API_KEY: KEY,
      CLI_B_SANDBOX_MODE: "workspace-write",
    };
    const profile = `seccomp=${join(REPOSITORY, "sandbox/seccomp.json")}`;
    const variables = Object.entries(env).flatMap(([name, value]) => ["--env", `${name}=${value}`]);
    const options = ["--detach", "--label", `${LABEL}=${run}`, "--security-opt", profile, ...variables];
    const { stdout: id } = await execa("docker", ["run", ...options, tag]);
    onTestFinished(async () => void (await execa("docker", ["rm", "--force", "--volumes", id])));
    const health = ["curl", "--silent", "--fail", "--retry", "60", "--retry-connrefused", "--retry-delay", "1"];
    await execa("docker", ["exec", id, ...health, "http://127.0.0.1:8080/v1/health"]);
    const report = await execa("docker", ["exec", id, "turnd", "doctor", "--json"], { reject: false });
    expect(read(report)).toEqual({});
  });

  test("finds an image without settings sound, run as docs/building-images.md says", async () => {
    const { tag } = inject("image");
    const documented = /`docker (run [^`]*) <image> ([^`]*)` checks/.exec(
      readFileSync(join(REPOSITORY, "docs/building-images.md"), "utf8"),
    );
    const [options = "", command = ""] = documented?.slice(1) ?? [];
    const args = [...options.split(" "), tag, ...command.split(" "), "--json"];
    expect(read(await execa("docker", args, { reject: false, stdin: "ignore", timeout: 110_000 }))).toEqual({
      ...NO_SANDBOX,
      token: expect.stringMatching(/^warn: there is none/),
    });
  });

  const BROKEN: readonly (readonly [string, Broken, Record<string, RegExp>])[] = [
    ["a user without a name", { script: "sed -i /:1000:1000:/d /etc/passwd" }, { user: /^fault: uid 1000/ }],
    ["what a build left in the home", { script: "mkdir /home/sandbox/.cache" }, { home: /^fault: .*\.cache/ }],
    ["a /tmp that is root's alone", { script: "chmod 0755 /tmp" }, { tmp: /^fault: uid 1000 cannot use/ }],
    ["a workspace that is root's", { script: "chown 0:0 /workspace" }, { workspace: /^fault: .*uid 1000 can/ }],
    ["a state that all can list", { script: "chmod 0755 /var/lib/turnd" }, { state: /^fault: .*mode 711/ }],
    [
      "a full volume",
      { options: ["--tmpfs", "/var/lib/turnd:size=4m,mode=711"] },
      { disk: /^fault: \/var\/lib\/turnd has [0-4] MiB/ },
    ],
    [
      "a CLI that is its Node wrapper",
      {
        isCliA: true,
        script:
          "rm /usr/local/bin/opencode; printf '#!/usr/bin/env node\\n' >/usr/local/bin/opencode; chmod 755 /usr/local/bin/opencode",
      },
      { "cli-a": /^fault: .*no native package/ },
    ],
    [
      "a CLI that is gone",
      { script: "rm /usr/local/bin/codex" },
      { "cli-b": /^fault: "codex" is not on PATH/, "cli-b-sandbox": /^warn: cannot be asked/ },
    ],
    [
      "managed configuration of another hand",
      { script: "mkdir /etc/codex" },
      { "stray-configuration": /^fault: \/etc\/codex is read by codex/ },
    ],
    [
      "a configuration that the real CLI A refuses",
      { isCliA: true, options: ["--env", `CLI_A_JSON={"model":"lab/m","permission":"bogus","username":"${KEY}"}`] },
      { "cli-a-configuration": /^fault: .*bogus/ },
    ],
    [
      "a configuration that the real CLI B refuses",
      { options: ["--env", 'CLI_B_CONFIG_TOML=model_provider = "nope"'] },
      { "cli-b-configuration": /^fault: .*`nope` not found/ },
    ],
    [
      "a mode whose sandbox the engine does not allow",
      { options: ["--env", "CLI_B_SANDBOX_MODE=workspace-write"] },
      { "cli-b-sandbox": /^fault: .*bwrap/ },
    ],
    [
      "a container without a capability",
      { options: ["--cap-drop", "KILL"] },
      { capabilities: /^fault: root lacks KILL/ },
    ],
    [
      "a port that another program holds",
      {
        script: `node -e 'require("net").createServer((s) => s.end()).listen(8091, "127.0.0.1", () => console.error("up"))' 2>/run/up & until [ -s /run/up ]; do sleep 0.05; done`,
      },
      { ports: /^fault: 8091 \(\/v1\) is held by another program/ },
    ],
  ];

  test.for(BROKEN)("finds %s", async ([, broken, expected]) => {
    const found = await examine(broken);
    const expectedChecks = Object.entries(expected).map(([name, message]) => [name, expect.stringMatching(message)]);
    expect(found).toEqual({ ...NO_SANDBOX, ...Object.fromEntries(expectedChecks) });
  });

  test("finds a PID 1 that takes nothing away", async () => {
    // A Node that is PID 1 waits for its own child alone, as turnd itself would.
    const idle: [string, ...string[]] = [
      "/usr/local/bin/node",
      "-e",
      'const { spawnSync } = require("child_process"); process.exit(spawnSync(process.argv[1], process.argv.slice(2), { stdio: "inherit" }).status)',
      "--",
    ];
    expect(await examine({}, idle)).toEqual({
      ...NO_SANDBOX,
      reaper: expect.stringMatching(/^warn: process 1 /),
    });
  });
});
