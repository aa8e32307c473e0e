import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { BUILD_LIMIT_MS, HOST_NAME, LABEL, readBuilt } from "../harness/provide-image.ts";
import { createVolume, describeImage, prepareVolume, startModel, startSandbox, TOKEN } from "../harness/sandbox.ts";
import { createServiceClient, type ServiceProcess } from "../harness/service-process.ts";
import { REPOSITORY } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";
import { startPostgresCluster } from "../service/harness/postgres-cluster.ts";

/** For a machine that others load. */
const LIMIT_MS = 300_000;
const PASSWORD = "correct horse battery";
const SERVICE_USER = 10_001;

/** What the compose file asks of the engine for the service. */
const Compose = z.object({
  environment: z.record(z.string(), z.string()),
  secrets: z.array(z.string()),
  stop_grace_period: z.string().regex(/^\d+s$/),
  read_only: z.literal(true),
  tmpfs: z.array(z.string()),
  volumes: z.tuple([z.string()]),
  pids_limit: z.int(),
  mem_limit: z.string(),
  memswap_limit: z.string(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
});

const Ready = z.object({ ready: z.boolean() });

async function docker(...args: string[]): Promise<string> {
  return (await execa("docker", args)).stdout;
}

describeImage("the image of the agent service, as compose.service.yaml has it", { timeout: LIMIT_MS }, () => {
  const { run, service: image } = inject("image");
  const compose = Compose.parse(parse(readFileSync(join(REPOSITORY, "compose.service.yaml"), "utf8")).services.service);
  const cleanUps: (() => void | Promise<void>)[] = [];
  let container = "";

  beforeAll(async () => {
    await waitFor("the service's image to be built", () => existsSync(image.built), BUILD_LIMIT_MS);
    const { hostAddress } = readBuilt(image.built);
    const network = await docker("network", "create", "--label", `${LABEL}=${run}`, `${run}-service`);
    const { model, env } = await startModel();
    cleanUps.push(() => model.close());
    const [cluster, sandbox] = await Promise.all([
      startPostgresCluster({ host: hostAddress, password: "only-for-this-test" }),
      startSandbox({ env: { ...env, TURND_HOSTS: "sandbox" } }),
    ]);
    cleanUps.push(
      () => cluster.stop(),
      () => sandbox.remove(),
    );
    await docker("network", "connect", "--alias", "sandbox", network, sandbox.container.getId());
    const secrets = await writeSecrets({
      database_url: cluster.url.replace(hostAddress, HOST_NAME),
      admin_password: PASSWORD,
      jwt_secret: "a-secret-of-tokens-0123456789abcdefgh",
      key_secret: "a-secret-of-keys-0123456789abcdefghij",
      sandbox_secret: "a-secret-of-sandboxes-0123456789abcde",
      service_turnd_token: TOKEN,
    });
    const objects = await createVolume();
    const options = {
      network: [network],
      label: [`${LABEL}=${run}`],
      "add-host": [`${HOST_NAME}:host-gateway`],
      publish: ["127.0.0.1::5050"],
      env: Object.entries(compose.environment).map(([name, value]) => `${name}=${value}`),
      volume: [`${secrets}:/run/secrets:ro`, `${objects}:${compose.volumes[0].split(":")[1]}`],
      tmpfs: compose.tmpfs,
      "pids-limit": [String(compose.pids_limit)],
      memory: [compose.mem_limit],
      "memory-swap": [compose.memswap_limit],
      "cap-drop": compose.cap_drop,
      "security-opt": compose.security_opt,
    };
    const flags = Object.entries(options).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
    container = await docker("run", "--detach", "--read-only", ...flags, image.tag);
  }, LIMIT_MS);

  afterAll(async () => {
    if (container !== "") await docker("rm", "--force", "--volumes", container);
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  }, LIMIT_MS);

  /** Each in the file that the compose file gives the service, readable by it alone. */
  async function writeSecrets(values: Readonly<Record<string, string>>): Promise<string> {
    expect(Object.keys(values).toSorted()).toEqual(compose.secrets.toSorted());
    const volume = await createVolume();
    const lines = Object.entries(values).map(([name, value]) => `printf %s '${value}' >/volume/${name}`);
    await prepareVolume(
      volume,
      ["umask 077", ...lines, `chown ${SERVICE_USER} /volume/*; chmod 755 /volume`].join("\n"),
    );
    return volume;
  }

  /** Waits until it is ready, and logs in. The engine picks another port at each start. */
  async function logInWhenReady(): Promise<Omit<ServiceProcess, "kill">> {
    const port = /:(\d+)$/m.exec(await docker("port", container, "5050"))?.[1];
    const url = `http://127.0.0.1:${port}`;
    await waitFor("the service to be ready", async () => {
      const state = await docker("inspect", "--format", "{{.State.Status}}", container);
      if (state !== "running")
        throw new Error(`it is ${state}:\n${(await execa("docker", ["logs", container], { all: true })).all}`);
      const answer = await fetch(`${url}/api/system/ready`).catch(() => undefined);
      return answer?.ok === true && Ready.parse(await answer.json()).ready;
    });
    const answer = await fetch(`${url}/api/auth/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "admin", password: PASSWORD }),
    });
    const { access_token: token } = z.object({ access_token: z.string() }).parse(await answer.json());
    return createServiceClient(url, token);
  }

  const health = async () => {
    const format = "{{json .Config.Healthcheck.Test}}";
    const [kind, ...words] = z
      .array(z.string())
      .parse(JSON.parse(await docker("inspect", "--format", format, container)));
    expect(kind).toBe("CMD");
    return (await execa("docker", ["exec", container, ...words], { reject: false })).exitCode;
  };

  test("it runs a turn, hands a running one over at SIGTERM, and started again has both", async () => {
    const first = await logInWhenReady();
    expect(await docker("exec", container, "id", "-u")).toBe(String(SERVICE_USER));
    expect(
      (await execa("docker", ["exec", container, "touch", "/opt/svc/attack"], { reject: false })).stderr,
    ).toContain("Read-only file system");
    expect(await health()).toBe(0);
    const { body: key } = await first.call("POST", "/api/user/apikey/", { request_id: "key-0001", name: "kept" });
    const asKey = createServiceClient(first.url, key.secret);
    const threadId = await asKey.thread();
    const runId = await asKey.submit(threadId, "@@tool-ok:a-word@@");
    const result = await asKey.result(runId);
    expect(result).toMatchObject({ status: "completed", output: "The command gave: a-word" });
    const running = await asKey.submit(threadId, "@@command:sleep 8; echo handed over@@");
    await waitFor("its turn", async () => (await asKey.eventsOf(running)).names.includes("svc.turn"));

    const grace = Number.parseInt(compose.stop_grace_period, 10);
    const beganAt = performance.now();
    await docker("stop", "--time", String(grace), container);
    // Killed at the end of its grace it would have 137.
    expect(await docker("inspect", "--format", "{{.State.ExitCode}}", container)).toBe("0");
    expect(performance.now() - beganAt).toBeLessThan(grace * 1_000);

    await docker("start", container);
    const again = await logInWhenReady();
    const afterwards = createServiceClient(again.url, key.secret);
    expect(await afterwards.result(runId)).toEqual(result);
    expect(await afterwards.result(running)).toMatchObject({
      status: "completed",
      output: expect.stringContaining("handed over"),
    });
    const { ids, types } = await afterwards.eventsOf(running);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(types.filter((type) => type === "end")).toHaveLength(1);
    // No secret is in what the engine shows of it, nor in its log.
    const shown = `${await docker("inspect", container)}${(await execa("docker", ["logs", container], { all: true })).all}`;
    for (const secret of [PASSWORD, TOKEN, key.secret, "only-for-this-test", "0123456789abcde"])
      expect(shown).not.toContain(secret);
  });
});
