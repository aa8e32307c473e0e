import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { execa } from "execa";
import { expect, inject, onTestFinished, test } from "vitest";
import { fakeDaemon } from "../../../harness/fake-daemon.ts";
import { sharedDaemon } from "../../../harness/shared-daemon.ts";
import { temporaryDirectory } from "../../../harness/temporary.ts";
import { runCommand } from "./commands.ts";

const TOKEN = "a-token-of-the-tests";

test("the token comes from the environment or a file; a wrong or missing one is refused with 3", async () => {
  const { url } = await fakeDaemon({ TURND_TOKEN: TOKEN });
  const directory = temporaryDirectory(onTestFinished);
  const file = join(directory, "token");
  writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
  for (const [args, env] of [
    [[], { TURND_TOKEN: TOKEN }],
    [[], { TURND_TOKEN_FILE: file }],
    [["--token-file", file], { TURND_TOKEN: "another" }],
  ] as const) {
    expect(await runCommand(url, ["turns", ...args], env)).toMatchObject({ exitCode: 0 });
  }
  const none = await runCommand(url, ["turns"]);
  expect([none.exitCode, none.stderr]).toEqual([
    3,
    expect.stringMatching(/^turnd: .* asks for a token: set TURND_TOKEN/),
  ]);
  const wrong = await runCommand(url, ["run", "--executor", "cli-b", "hello"], { TURND_TOKEN: "wrong-token" });
  expect([wrong.exitCode, wrong.stderr]).toEqual([3, expect.stringMatching(/refuses the token/)]);
  expect(wrong.stderr).not.toContain("wrong-token");
  const bad = await runCommand(url, ["turns"], { TURND_TOKEN: "two\nlines" });
  expect([bad.exitCode, bad.stderr]).toEqual([2, expect.stringContaining("TURND_TOKEN holds no token")]);
});

test("the configuration file's token goes to the address beside it alone, and only its owner may read it", async () => {
  const { url } = await fakeDaemon({ TURND_TOKEN: TOKEN });
  const home = temporaryDirectory(onTestFinished);
  const file = join(home, "turnd/client.toml");
  mkdirSync(join(home, "turnd"));
  writeFileSync(file, `url = "${url}/"\ntoken = "${TOKEN}"\n`, { mode: 0o600 });
  const env = { XDG_CONFIG_HOME: home };
  expect(await runCommand("", ["turns"], env)).toMatchObject({ exitCode: 0 });
  // Another turnd gets no token.
  const seen: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.writeHead(200, { "content-type": "application/json" }).end('{"turns":[]}');
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? address?.port : undefined;
  expect(await runCommand("", ["turns", "--url", `http://127.0.0.1:${port}`], env)).toMatchObject({ exitCode: 0 });
  expect(seen).toEqual([undefined]);
  chmodSync(file, 0o644);
  const open = await runCommand("", ["turns"], env);
  expect([open.exitCode, open.stderr]).toEqual([2, expect.stringMatching(/may be read by others: chmod 600/)]);
  chmodSync(file, 0o600);
  writeFileSync(file, `url = "${url}"\ntokn = "${TOKEN}"\n`);
  const misspelt = await runCommand("", ["turns", "--json"], env);
  expect([misspelt.exitCode, JSON.parse(misspelt.stdout).error.code]).toEqual([2, "config_invalid"]);
  expect(misspelt.stderr).not.toContain(TOKEN);
});

test.each([
  ["http://127.0.0.1:9", 6, /no turnd answers at http:\/\/127\.0\.0\.1:9: start one/],
  ["http://sandbox.example:8080", 2, /unencrypted: use https/],
  ["ftp://127.0.0.1", 2, /no address of a service/],
  ["http://user:pw@127.0.0.1", 2, /has no user/],
])("asking %s ends with %i and says why", async (url, code, why) => {
  const { exitCode, stderr } = await runCommand(url, ["turns"]);
  expect([exitCode, stderr]).toEqual([code, expect.stringMatching(why)]);
  expect(stderr.split("\n")).toHaveLength(1);
});

test("a variable that is misspelt, or no port, is named", async () => {
  const { url } = await sharedDaemon();
  const misspelt = await runCommand(url, ["turns"], { TURND_TOKN: "not-shown", CLI_B_MODLE: "not-shown" });
  const warning = "turnd: warning: TURND_TOKN is no variable of turnd and has no effect: did you mean TURND_TOKEN?";
  expect([misspelt.exitCode, misspelt.stderr.split("\n")[0]]).toEqual([0, warning]);
  expect(misspelt.stderr).not.toMatch(/not-shown|CLI_B/);
  const port = await runCommand("", ["turns"], { TURND_PORT: "80a" });
  expect([port.exitCode, port.stderr]).toEqual([
    2,
    'turnd: TURND_PORT is "80a": must be a port of a turnd that serves',
  ]);
});

test("the address may be the one that logs and documents name, with /v1", async () => {
  const { url } = await sharedDaemon();
  expect(await runCommand(`${url}/v1/`, ["turns"])).toMatchObject({ exitCode: 0 });
});

test("https to a turnd that speaks http is said in one line", async () => {
  const { url } = await sharedDaemon();
  const { exitCode, stderr } = await runCommand(url.replace("http:", "https:"), ["turns"]);
  expect([exitCode, stderr]).toEqual([
    6,
    expect.stringMatching(/^turnd: no turnd answers at https:.* does not speak TLS: is it http\?\)$/),
  ]);
});

test("an output that takes nothing more is named, and is no success", async () => {
  const { url } = await sharedDaemon();
  expect(await runCommand(url, ["run", "--detach", "--executor", "cli-b", "hello"])).toMatchObject({ exitCode: 0 });
  const turns = `"${process.execPath}" "${inject("turnd")}" turns > /dev/full`;
  const { exitCode, stderr } = await execa("sh", ["-c", turns], { reject: false, env: { TURND_URL: url } });
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/^turnd: the output cannot be written: ENOSPC/)]);
});
