import { chmodSync } from "node:fs";
import { describe, expect, onTestFinished, test } from "vitest";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { startDaemon } from "../harness/daemon.ts";
import { makeAuthority, serveTls, type PrivateAuthority } from "../harness/private-authority.ts";
import { LIGHT_CLI_A, CLI_B, realEnv, type RealCli } from "../harness/real-daemon.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

/** A turn whose provider's certificate a private authority has signed. */
async function runTurn(cli: RealCli, environment: (authority: PrivateAuthority) => Record<string, string>) {
  const keys = temporaryDirectory(onTestFinished);
  const authority = makeAuthority(keys);
  // The CLIs' user reads it there; each key is for root alone.
  chmodSync(keys, 0o711);
  chmodSync(authority.directory, 0o755);
  const model = await startScriptedModel();
  onTestFinished(() => model.close());
  const front = await serveTls(authority, Number(new URL(model.url).port));
  onTestFinished(() => front.close());
  const url = new URL(model.url);
  url.protocol = "https:";
  url.port = String(front.port);
  const env = { ...realEnv(cli, url.href.replace(/\/$/, "")), ...environment(authority) };
  const turnd = await startDaemon({ directory: temporaryDirectory(onTestFinished), env });
  onTestFinished(async () => void (await turnd.stop()));
  const turn = await turnd.run({ executor: cli.executor, input: "hello" });
  return { turn, turnd };
}

describe.each([
  { cli: CLI_B, names: ["CODEX_CA_CERTIFICATE", "SSL_CERT_FILE", "SSL_CERT_DIR"], others: ["NODE_EXTRA_CA_CERTS"] },
  { cli: LIGHT_CLI_A, names: ["NODE_EXTRA_CA_CERTS"], others: ["CODEX_CA_CERTIFICATE"] },
])("$cli.executor $cli.version", ({ cli, names, others }) => {
  const valueOf = (name: string, { file, directory }: PrivateAuthority) => (name.endsWith("_DIR") ? directory : file);

  test.each(names)("%s reaches the CLI, which believes the authority", async (name) => {
    const { turn } = await runTurn(cli, (authority) => ({ [name]: valueOf(name, authority) }));
    expect(turn).toMatchObject({ status: "completed" });
  });

  test.each(others)("with %s, which it does not read, the turn fails and its message has the cause", async (name) => {
    const { turn } = await runTurn(cli, (authority) => ({ [name]: valueOf(name, authority) }));
    expect(turn).toMatchObject({ status: "failed", failure: { code: "network_error" } });
    expect(turn.failure?.message).toMatch(/UNABLE_TO_VERIFY_LEAF_SIGNATURE|unable to verify the first certificate/);
  });
});

test("turnd's own check of CLI B's provider believes the same", async () => {
  const { turnd } = await runTurn(CLI_B, ({ file }) => ({ CODEX_CA_CERTIFICATE: file }));
  const response = await fetch(`${turnd.url}/v1/executors/cli-b`);
  expect(await response.json()).toMatchObject({ provider: { api: "present" } });
});
