import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { LABEL } from "../harness/provide-image.ts";
import {
  createVolume,
  describeImage,
  KEY,
  prepareVolume,
  runSandbox,
  startSandbox,
  TOKEN,
  type SandboxOptions,
} from "../harness/sandbox.ts";
import { REPOSITORY, temporaryDirectory } from "../harness/temporary.ts";

const LEAST = ["CHOWN", "DAC_READ_SEARCH", "KILL", "SETGID", "SETUID", "SETPCAP"];
const WRITABLE = { "/run": "", "/tmp": "", "/home/sandbox": "", "/workspace": "", "/var/lib/turnd": "" };

const CONFIGURED = { CLI_B_MODEL: "m", CLI_B_BASE_URL: "http://127.0.0.1:9/v1", CLI_B_API_KEY: KEY };

/** All directories that can be written, but one. */
function without(directory: keyof typeof WRITABLE): SandboxOptions {
  const tmpfs = Object.fromEntries(Object.entries(WRITABLE).filter(([path]) => path !== directory));
  return { hasReadOnlyRoot: true, tmpfs };
}

describeImage("the entrypoint", () => {
  describe("reports each fault, with an exit code of its own", () => {
    test.each<[number, string, SandboxOptions, RegExp]>([
      [10, "another user", { user: "1234" }, /started as uid 1234: start the container as root/],
      ...LEAST.map((lacking): [number, string, SandboxOptions, RegExp] => [
        10,
        `no ${lacking}`,
        { capabilities: LEAST.filter((name) => name !== lacking) },
        new RegExp(`lacks these capabilities: .*${lacking}`),
      ]),
      [
        11,
        "a home that cannot be written",
        without("/home/sandbox"),
        /home \/home\/sandbox .* cannot be used by uid 1000/,
      ],
      [12, "a state that cannot be written", without("/var/lib/turnd"), /state \/var\/lib\/turnd cannot be written/],
      [13, "a workspace that cannot be written", without("/workspace"), /workspace \/workspace .* cannot be used/],
      [14, "a /tmp that cannot be written", without("/tmp"), /\/tmp cannot be used/],
      [15, "a /run that cannot be written", without("/run"), /\/run\/sandbox cannot be made/],
      [16, "a setting", { env: { TURND_MAX_TURNS: "many" } }, /TURND_MAX_TURNS is "many"/],
      ...["/opt", "/root", "/", "/usr/local/sbin", "/run", "/var/lib/turnd/sessions"].flatMap((place) =>
        ["TURND_HOME", "TURND_WORKSPACE"].map((variable): [number, string, SandboxOptions, RegExp] => [
          16,
          `${variable} on ${place}`,
          { env: { [variable]: place } },
          new RegExp(`${variable} is ${place}, which .*would be given to uid 1000`),
        ]),
      ),
      [16, "a port to offer", { env: { TURND_PROXY_PORTS: "80" } }, /TURND_PROXY_PORTS is "80"/],
      [16, "another port of turnd", { env: { TURND_PORT: "9000" } }, /TURND_PORT is 9000/],
      [16, "a configuration", { env: { CLI_A_JSON: "{" } }, /CLI_A_JSON/],
      [16, "a port of the front", { env: { SANDBOX_PORT: "8091" } }, /SANDBOX_PORT is "8091"/],
      [16, "an option", { command: ["--nonesuch"] }, /--nonesuch is no option/],
    ])("%i: %s", async (exitCode, _title, options, message) => {
      const ended = await runSandbox({ ...options, env: { ...CONFIGURED, ...options.env } });
      expect(ended.stderr).toMatch(message);
      expect(ended.exitCode).toBe(exitCode);
      expect(ended.stderr + ended.stdout).not.toContain(KEY);
    });
  });

  test.each([
    "umask 077; printf %s some-word >/volume/token; chown 1000:1000 /volume/token",
    "umask 022; echo some-word >/volume/token",
  ])("16: a token that uid 1000 can read: %s", async (script) => {
    const secrets = await createVolume();
    await prepareVolume(secrets, `${script}; chmod 755 /volume`);
    const env = { ...CONFIGURED, TURND_TOKEN_FILE: "/run/secrets/token" };
    const ended = await runSandbox({ env, volumes: { "/run/secrets": secrets } });
    expect(ended.stderr).toMatch(/TURND_TOKEN_FILE is \/run\/secrets\/token \(uid .*make it root's own, with mode 600/);
    expect(ended.exitCode).toBe(16);
  });

  test("with --scripted both CLIs answer without a provider, in a turn that the README starts", async () => {
    const sandbox = await startSandbox({ command: ["--scripted"] });
    const line = /^TURND_URL=.*$/m.exec(readFileSync(join(REPOSITORY, "README.md"), "utf8"))?.[0] ?? "";
    const own = line.replace("http://127.0.0.1:8080", sandbox.url).replace("$token", TOKEN);
    for (const executor of ["codex", "opencode"]) {
      const script = own.replace("--executor codex", `--executor ${executor}`);
      const { stdout } = await execa("bash", ["-euc", script], { cwd: REPOSITORY });
      expect(stdout).toMatch(/scripted model[^]*Hello![^]*^completed in /m);
    }
  });

  test("runs a command instead, as uid 1000 without groups and capabilities, and passes its exit code on", async () => {
    const script =
      "id; pwd; echo $HOME $USER; grep -E '^(NoNewPrivs|CapBnd)' /proc/self/status; env; cat ~/.codex/config.toml; exit 7";
    const env = { TURND_TOKEN: TOKEN, ...CONFIGURED };
    const { exitCode, stdout, stderr } = await runSandbox({ env, command: ["sh", "-c", script] });
    expect(exitCode, stderr).toBe(7);
    expect(stdout).toMatch(
      /^uid=1000\(sandbox\) gid=1000\(sandbox\) groups=1000\(sandbox\)\n\/workspace\n\/home\/sandbox sandbox\nCapBnd:\t0+\nNoNewPrivs:\t1$/m,
    );
    expect(stdout).toContain('model = "m"');
    expect(stdout).not.toContain(TOKEN);
  });

  test.each([
    ["a file where a directory belongs", "rm -rf /volume/.config; touch /volume/.config", {}],
    ["a full disk", "", { "/home/sandbox": "size=64k,mode=700,uid=1000" }],
  ])(
    "a home that the configurations cannot be written to is reported, and keeps no client out: %s",
    async (_title, script, tmpfs) => {
      const home = await createVolume();
      await prepareVolume(home, `${script || ":"}; chown -R 1000:1000 /volume`);
      const CLI_A = {
        CLI_A_PROVIDER: "lab",
        CLI_A_MODEL: "m",
        CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
        CLI_A_API_KEY: KEY,
      };
      const CLI_B_CONFIG_TOML = `model = "m"\n#${"x".repeat(70_000)}`;
      const options = {
        env: { ...CLI_A, CLI_B_CONFIG_TOML },
        tmpfs,
        volumes: script === "" ? {} : { "/home/sandbox": home },
      };
      const { exitCode, stdout, stderr } = await runSandbox({ ...options, command: ["echo", "started"] });
      expect([exitCode, stdout]).toEqual([0, "started"]);
      expect(stderr).toMatch(/cannot be prepared[^]*warning: the CLIs' configurations in \/home\/sandbox are not/);
    },
  );

  test("a volume of another image is taken over: root's workspace, another owner's home, turnd's old state", async () => {
    const [workspace, home, state] = [await createVolume(), await createVolume(), await createVolume()];
    await prepareVolume(
      workspace,
      "mkdir -p /volume/old && echo old >/volume/old/file && chmod -R 700 /volume && chown -R 0:0 /volume",
    );
    await prepareVolume(
      home,
      "echo kept >/volume/kept && chmod 600 /volume/kept && chown -R 1234:1234 /volume && chmod 700 /volume",
    );
    await prepareVolume(
      state,
      "mkdir -p /volume/sessions/s-1/home /volume/sessions/s-1/turns && echo x >/volume/sessions/s-1/home/x && chown -R 1001:1001 /volume",
    );
    const volumes = { "/workspace": workspace, "/home/sandbox": home, "/var/lib/turnd": state };
    const sandbox = await startSandbox({ volumes, capabilities: LEAST });
    const stat = async (...paths: string[]) => (await sandbox.exec(["stat", "-c", "%u %n", ...paths])).output.trim();
    expect(await stat("/workspace", "/workspace/old/file", "/home/sandbox/kept")).toBe(
      "1000 /workspace\n1000 /workspace/old/file\n1000 /home/sandbox/kept",
    );
    const session = "/var/lib/turnd/sessions/s-1";
    expect(await stat("/var/lib/turnd", `${session}/turns`, `${session}/home`, `${session}/home/x`)).toBe(
      `0 /var/lib/turnd\n0 ${session}/turns\n1000 ${session}/home\n1000 ${session}/home/x`,
    );
    expect((await sandbox.exec(["sh", "-c", "echo new >>/workspace/old/file"], "1000")).exitCode).toBe(0);
    expect(await sandbox.log()).toContain("giving /workspace, which belongs to uid 0, to 1000:1000");
    // And once more, with nothing left to do.
    expect(await sandbox.stop()).toBe(0);
    expect(await runSandbox({ volumes, command: ["cat", "/workspace/old/file"] })).toMatchObject({
      exitCode: 0,
      stdout: "old\nnew",
    });
  });

  test.each([
    ["a folder below one called volumes", async (directory: string) => directory],
    // As a disk that is mounted in whole: the root of what is mounted is `/`.
    [
      "a file system of its own",
      async (directory: string) => {
        const parts = { lowerdir: directory, upperdir: `${directory}-upper`, workdir: `${directory}-work` };
        mkdirSync(parts.workdir);
        // Owner and mode of the whole come from here.
        mkdirSync(parts.upperdir, { mode: 0o700 });
        chownSync(parts.upperdir, 1234, 1234);
        const o = Object.entries(parts).map(([name, path]) => `${name}=${path}`);
        const options = ["type=overlay", "device=overlay", `o=${o.join(",")}`].flatMap((option) => ["--opt", option]);
        const label = `${LABEL}=${inject("image").run}`;
        return (await execa("docker", ["volume", "create", "--label", label, ...options])).stdout;
      },
    ],
  ])("what the host mounts in is not given away: %s", async (_title, mount) => {
    const directory = join(temporaryDirectory(onTestFinished), "volumes", "project");
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, "file"), "the host's");
    chownSync(directory, 1234, 1234);
    chmodSync(directory, 0o700);
    const source = await mount(directory);
    const { exitCode, stderr } = await runSandbox({ volumes: { "/workspace": source } });
    expect(stderr).toContain("the workspace /workspace (uid 1234, mode 7");
    expect(exitCode).toBe(13);
    await prepareVolume(source, 'test "$(stat -c %u:%g /volume /volume/file | xargs)" = "1234:1234 0:0"');
  });

  test("a volume is left as it is where that is asked for", async () => {
    const workspace = await createVolume();
    await prepareVolume(workspace, "echo old >/volume/file && chmod 700 /volume && chown -R 1234:1234 /volume");
    const options = { volumes: { "/workspace": workspace }, env: { TURND_ADOPT_VOLUMES: "no" } };
    const { exitCode, stderr } = await runSandbox(options);
    expect(stderr).toContain("the workspace /workspace (uid 1234, mode 700) cannot be used by uid 1000");
    expect(exitCode).toBe(13);
  });
});
