import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { CLI_USER, temporaryDirectory, userDirectory } from "../../harness/temporary.ts";

const CLI_A = {
  CLI_A_NAME: "opencode",
  CLI_A_PROVIDER: "mock",
  CLI_A_MODEL: "mock/model-x",
  CLI_A_BASE_URL: "http://127.0.0.1:9/v1",
  CLI_A_API_KEY: "sk-secret-of-cli-a",
};
const CLI_B = {
  CLI_B_NAME: "codex",
  CLI_B_MODEL: "model-x",
  CLI_B_BASE_URL: "http://127.0.0.1:9/v1",
  CLI_B_API_KEY: "sk-secret-of-cli-b",
};

function render(home: string, env: Record<string, string>) {
  return execa(process.execPath, [inject("turnd"), "render"], {
    extendEnv: false,
    env: { PATH: "/usr/bin:/bin", TURND_HOME: home, TURND_RUN_AS: CLI_USER.isSelf ? "self" : "1000:1000", ...env },
    reject: false,
  });
}

const newHome = (): string => userDirectory(join(temporaryDirectory(onTestFinished), "home"));

test("both configurations are written for the CLIs' user alone, and no key is echoed", async () => {
  const home = newHome();
  const result = await render(home, { ...CLI_A, ...CLI_B });
  const files = [join(home, ".config/opencode/config.json"), join(home, ".codex/config.toml")];
  expect([result.exitCode, result.stdout.split("\n")]).toEqual([0, files]);
  for (const file of files) {
    const { uid, mode } = statSync(file);
    expect([uid, mode & 0o777]).toEqual([CLI_USER.uid, 0o600]);
  }
  expect(result.stdout + result.stderr).not.toContain("sk-secret");
  const config: { model: string; provider: Record<string, unknown> } = JSON.parse(readFileSync(files[0] ?? "", "utf8"));
  expect(config.model).toBe("mock/model-x");
  expect(readFileSync(files[1] ?? "", "utf8")).not.toContain("sk-secret-of-cli-b");
});

test("half a set of variables is an error that names what is missing, for both CLIs at once", async () => {
  const home = newHome();
  const result = await render(home, { CLI_A_MODEL: "x", CLI_A_API_KEY: "sk-secret-of-cli-a", CLI_B_MODEL: "y" });
  expect(result.exitCode).toBe(1);
  for (const name of ["CLI_A_PROVIDER", "CLI_A_BASE_URL", "CLI_B_BASE_URL"]) expect(result.stderr).toContain(name);
  expect(result.stderr).not.toContain("sk-secret");
  expect(existsSync(join(home, ".config"))).toBe(false);
});

test("a whole configuration is written as given, wins over single variables, with a warning", async () => {
  const home = newHome();
  const toml =
    '# mine\nmodel = "m"\nmodel_provider = "p"\n[model_providers.p]\nname = "p"\nbase_url = "http://127.0.0.1:9/v1"\n';
  const result = await render(home, { CLI_B_NAME: "codex", CLI_B_MODEL: "other", CLI_B_CONFIG_TOML: toml });
  expect(result.exitCode).toBe(0);
  expect(readFileSync(join(home, ".codex/config.toml"), "utf8")).toBe(toml);
  expect(result.stderr).toMatch(/warning: .*CLI_B_CONFIG_TOML/);
});

test.each([
  ["CLI_A_JSON that is no JSON", { CLI_A_JSON: '{"provider": sk-secret' }, "CLI_A_JSON"],
  ["CLI_B_CONFIG_TOML that is no TOML", { CLI_B_CONFIG_TOML: "key = sk-secret" }, "CLI_B_CONFIG_TOML"],
  [
    "the chat protocol",
    {
      CLI_B_CONFIG_TOML:
        'model_provider = "p"\n[model_providers.p]\nname = "p"\nbase_url = "http://h/v1"\nwire_api = "chat"\n',
    },
    "responses",
  ],
])("%s is refused by name and nothing is written", async (_, env, named) => {
  const home = newHome();
  const result = await render(home, env);
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toContain(named);
  expect(result.stderr).not.toContain("sk-secret");
  expect(existsSync(join(home, ".cli-b"))).toBe(false);
});

test("a home that cannot be written has an exit code of its own, and is reported", async () => {
  const home = newHome();
  writeFileSync(join(home, ".config"), "");
  const { exitCode, stderr } = await render(home, CLI_A);
  expect([exitCode, stderr]).toEqual([3, expect.stringMatching(/^turnd: .* cannot be prepared: /)]);
});

test("a link planted in the home does not lead turnd out of it", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const home = userDirectory(join(directory, "home"));
  const outside = join(directory, "outside");
  mkdirSync(outside, { mode: 0o755 });
  chmodSync(outside, 0o755);
  symlinkSync(outside, join(home, ".codex"));
  const result = await render(home, CLI_B);
  if (!CLI_USER.isSelf) expect([result.exitCode, existsSync(join(outside, "config.toml"))]).toEqual([3, false]);
});
