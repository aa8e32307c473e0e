import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { startScriptedModel } from "../../src/scripted-model/server.ts";
import { runService, startNpmService, turndOf } from "../harness/npm-service.ts";
import { processesNaming } from "../harness/processes.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

const LIMIT = { timeout: 300_000 };

// One data directory from start to start, in this order: each first start takes seconds to make a database.
const closed = join(temporaryDirectory(afterAll), "closed");
const directory = join(closed, "svc");

/** The commands it prints for a person to paste, run as a person would. */
async function paste(output: string) {
  const script = output.split("another terminal):")[1]?.split("Every route:")[0] ?? "exit 99";
  return execa("bash", ["-euo", "pipefail", "-c", script], { reject: false, stdin: "ignore" });
}

/** The scripted models of a data directory, which stands in their environment. */
const modelsOf = (data: string): number[] =>
  processesNaming("scripted-model/main.ts").filter((pid) => processesNaming(data, "anywhere").includes(pid));

test.runIf(process.getuid?.() === 0)(
  "a directory that the CLIs' user cannot enter is refused, with what to do",
  LIMIT,
  async () => {
    mkdirSync(closed, { mode: 0o700 });
    const refused = await runService(directory);
    expect(refused.exitCode).toBe(1);
    expect(refused.all).toContain(
      `uid 1000, who the CLIs run as, cannot enter ${closed}, and SERVICE_DATA_DIR is ${directory}: name a directory that every user can come to, such as /var/lib/svc, or let others through with chmod o+x ${closed}`,
    );
    chmodSync(closed, 0o711);
  },
);

test(
  "a first start makes what it needs and prints commands that work when pasted; a second instance, and one on its port, are refused; SIGTERM leaves nothing",
  LIMIT,
  async () => {
    const service = await startNpmService(directory);
    expect(service.output()).toMatch(
      /no provider is set for cli-a and cli-b: a scripted model, which is no language model/,
    );
    const password = join(directory, "admin-password");
    expect(service.output()).toContain(`the password of the first start in ${password}`);
    expect(statSync(password).mode & 0o777).toBe(0o600);
    expect(service.output()).not.toContain(readFileSync(password, "utf8").trim());

    // Each in one line that says what to do.
    const second = await runService(directory);
    expect(second.exitCode).toBe(1);
    expect(second.all.trim()).toBe(
      `svc: ${directory} is in use by another \`npm run service\` (pid ${service.pid}): stop it, or set SERVICE_DATA_DIR and SERVICE_PORT`,
    );
    const other = join(temporaryDirectory(onTestFinished), "svc");
    const port = new URL(service.url).port;
    const onPort = await runService(other, { SERVICE_PORT: port });
    expect(onPort.exitCode).toBe(1);
    expect(onPort.all).toContain(
      `address already in use 127.0.0.1:${port}: stop what listens there, or set SERVICE_PORT`,
    );
    await waitFor("nothing of it is left", () => processesNaming(other, "anywhere").length === 0);

    // The first one has noticed nothing.
    const pasted = await paste(service.output());
    expect(pasted.exitCode, pasted.stderr).toBe(0);
    expect(JSON.parse(pasted.stdout)).toMatchObject({ status: "completed", choices: [{ finish_reason: "stop" }] });
    expect(modelsOf(directory)).toHaveLength(1);
    expect(modelsOf(directory)).not.toContain(service.pid);
    expect(await service.end("SIGTERM")).toBe(0);
    await waitFor("nothing of it is left", () => processesNaming(directory, "anywhere").length === 0);
    expect(turndOf(directory)).toBeUndefined();
  },
);

test(
  "the model's port of the last time that is taken is replaced; after kill -9 the model is gone, and the next start takes up the turnd that is left and works",
  LIMIT,
  async () => {
    const taken = Number(readFileSync(join(directory, "scripted-model-port"), "utf8"));
    const other = createServer().listen(taken, "127.0.0.1");
    onTestFinished(() => void other.close());
    await once(other, "listening");
    const first = await startNpmService(directory);
    expect((await paste(first.output())).stdout).toContain('"status":"completed"');
    const password = readFileSync(join(directory, "admin-password"), "utf8");
    const [model = 0] = modelsOf(directory);
    await waitFor("a turnd", () => turndOf(directory));
    const turnd = turndOf(directory);
    await first.end("SIGKILL");
    await waitFor("the model is gone", () => !existsSync(`/proc/${model}`));
    expect(processesNaming(directory, "anywhere")).toContain(turnd);
    const second = await startNpmService(directory);
    expect(readFileSync(join(directory, "admin-password"), "utf8")).toBe(password);
    expect((await paste(second.output())).stdout).toContain('"status":"completed"');
    expect(turndOf(directory)).toBe(turnd);
    // A model that is killed alone comes back at the same address.
    const [living = 0] = modelsOf(directory);
    process.kill(living, "SIGKILL");
    await waitFor("another model", () => modelsOf(directory).some((pid) => pid !== living));
    const again = await waitFor("an answer of it", async () => {
      const { stdout } = await paste(second.output());
      return stdout.includes('"status":"completed"');
    });
    expect(again).toBe(true);
    expect(await second.end("SIGTERM")).toBe(0);
  },
);

test("with provider variables it runs on them, and starts no model", LIMIT, async () => {
  const provider = await startScriptedModel({ apiKey: "the-key-of-the-provider" });
  onTestFinished(() => provider.close());
  const service = await startNpmService(directory, {
    CLI_A_PROVIDER: "ours",
    CLI_A_MODEL: "large",
    CLI_A_BASE_URL: provider.url,
    CLI_A_API_KEY: "the-key-of-the-provider",
    CLI_B_MODEL: "large",
    CLI_B_BASE_URL: provider.url,
    CLI_B_API_KEY: "the-key-of-the-provider",
    CLI_B_SANDBOX_MODE: "danger-full-access",
  });
  expect(service.output()).not.toContain("scripted");
  expect(modelsOf(directory)).toEqual([]);
  expect((await paste(service.output())).stdout).toContain('"status":"completed"');
  expect(provider.requests.length).toBeGreaterThan(0);
  expect(await service.end("SIGTERM")).toBe(0);
});

test("a password file that was removed is not replaced by one that opens nothing", LIMIT, async () => {
  rmSync(join(directory, "admin-password"));
  const service = await startNpmService(directory);
  expect(service.output()).toContain("whose administrator's password file was removed");
  expect(await service.end("SIGTERM")).toBe(0);
  expect(existsSync(join(directory, "admin-password"))).toBe(false);
});
