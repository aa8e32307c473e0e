import { randomUUID } from "node:crypto";
import { execa } from "execa";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { z } from "zod";
import { HOST_NAME, readBuilt } from "../harness/provide-image.ts";
import { describeImage, KEY, startModel } from "../harness/sandbox.ts";
import { startServiceProcess, type ServiceProcess } from "../harness/service-process.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { waitFor } from "../harness/wait-for.ts";

/** For a machine that others load: a start, two sweeps of 30 s each. */
const LIMIT_MS = 600_000;
const MEMORY_MB = 1_536;

const Container = z.object({
  Id: z.string(),
  Config: z.object({ Labels: z.record(z.string(), z.string()), Env: z.array(z.string()) }),
  State: z.object({ Running: z.boolean() }),
  HostConfig: z.object({
    Memory: z.number(),
    MemorySwap: z.number(),
    NanoCpus: z.number(),
    PidsLimit: z.number().nullable(),
    ReadonlyRootfs: z.boolean(),
    CapAdd: z.array(z.string()).nullable(),
    CapDrop: z.array(z.string()).nullable(),
    SecurityOpt: z.array(z.string()).nullable(),
    RestartPolicy: z.object({ Name: z.string() }),
  }),
  NetworkSettings: z.object({
    Ports: z.record(z.string(), z.array(z.object({ HostIp: z.string(), HostPort: z.string() })).nullable()),
    Networks: z.record(z.string(), z.object({ IPAddress: z.string() })),
  }),
});
type Container = z.infer<typeof Container>;

async function docker(...args: string[]): Promise<string> {
  return (await execa("docker", args)).stdout;
}

describeImage("the agent service with a sandbox for each thread", { timeout: LIMIT_MS }, () => {
  const { tag } = inject("image");
  const cleanUps: (() => void | Promise<void>)[] = [];
  let env: Record<string, string> = {};
  let directory = "";
  let service: ServiceProcess;
  let instanceId = "";

  beforeAll(async () => {
    const { model, env: modelEnv } = await startModel();
    cleanUps.push(() => model.close());
    const { hostAddress } = readBuilt(inject("image").built);
    // Sandboxes of the service have no names of this machine.
    const reach = (value: string) => (hostAddress === "127.0.0.1" ? value : value.replace(HOST_NAME, hostAddress));
    const provider = Object.entries(modelEnv).filter(([name]) => name.startsWith("CLI_"));
    env = {
      ...Object.fromEntries(provider.map(([name, value]) => [name, reach(value)])),
      ...(process.env["DOCKER_HOST"] === undefined ? {} : { DOCKER_HOST: process.env["DOCKER_HOST"] }),
      SERVICE_SANDBOX: "docker",
      SERVICE_SANDBOX_IMAGE: tag,
      SERVICE_SANDBOX_IDLE_MS: "1000",
      SERVICE_SANDBOX_MEMORY_MB: String(MEMORY_MB),
      SERVICE_SANDBOX_PIDS: "400",
      SERVICE_SANDBOX_CPUS: "1.5",
      SERVICE_SANDBOX_START_MS: "180000",
    };
    directory = temporaryDirectory((remove) => cleanUps.push(remove));
    service = await startServiceProcess(directory, env);
  }, LIMIT_MS);

  afterAll(async () => {
    await service.kill("SIGTERM");
    for (const id of await containerIds()) await docker("rm", "--force", "--volumes", id);
    const label = ["--quiet", "--filter", `label=svc.instance=${instanceId}`];
    for (const kind of ["volume", "network"]) {
      const ids = (await docker(kind, "ls", ...label)).split("\n").filter(Boolean);
      if (ids.length > 0) await docker(kind, "rm", ...ids);
    }
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  }, LIMIT_MS);

  /** The ids of everything of this service that the engine has, running or not, made by any process. */
  async function containerIds(): Promise<string[]> {
    if (instanceId === "") return [];
    const filter = ["--filter", `label=svc.instance=${instanceId}`];
    return (await docker("ps", "--all", "--quiet", "--no-trunc", ...filter)).split("\n").filter(Boolean);
  }

  /** The same, inspected; what is removed meanwhile is left out. */
  async function containers(): Promise<Container[]> {
    const found = await containerIds();
    if (found.length === 0) return [];
    const { stdout } = await execa("docker", ["inspect", ...found], { reject: false });
    return z.array(Container).parse(JSON.parse(stdout));
  }

  /** The only one there is, once it runs. */
  async function onlyOne(): Promise<Container> {
    const found = await containers();
    expect(found).toHaveLength(1);
    const [one] = found;
    if (one === undefined) throw new Error("no container");
    return one;
  }

  const generationOf = ({ Config }: Container): string => Config.Labels["svc.generation"] ?? "";

  async function stopped(): Promise<void> {
    await waitFor("the idle stop", async () => (await containerIds()).length === 0, 180_000);
  }

  let threadId = "";

  test("a run has a container of its thread's own, closed and limited by the settings", async () => {
    threadId = await service.thread();
    const runId = await service.submit(
      threadId,
      "@@command:until [ -e /workspace/go-on ]; do sleep 0.2; done; echo first > /workspace/kept; echo done@@",
    );
    await waitFor("the turn", async () => (await service.eventsOf(runId)).names.includes("svc.turn"), 240_000);
    // What carries the service's name is the newest container of the image.
    const newest = await docker(
      "ps",
      "--latest",
      "--quiet",
      "--filter",
      "label=svc.instance",
      "--filter",
      `ancestor=${tag}`,
    );
    instanceId = await docker("inspect", "--format", '{{index .Config.Labels "svc.instance"}}', newest);
    const container = await onlyOne();
    expect(container.HostConfig).toMatchObject({
      Memory: MEMORY_MB * 2 ** 20,
      MemorySwap: MEMORY_MB * 2 ** 20,
      NanoCpus: 1.5e9,
      PidsLimit: 400,
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      RestartPolicy: { Name: "no" },
    });
    expect(container.HostConfig.SecurityOpt?.map((option) => option.slice(0, 20))).toEqual([
      "no-new-privileges:tr",
      expect.stringMatching(/^seccomp=\{/),
    ]);
    expect(Object.values(container.NetworkSettings.Ports).flat()).toEqual([
      { HostIp: "127.0.0.1", HostPort: expect.stringMatching(/^\d+$/) },
    ]);
    expect(Object.keys(container.NetworkSettings.Networks)).toEqual([`svc-${instanceId}`]);
    // Felt inside, on either version of cgroups.
    const inside = async (user: string, script: string) =>
      (await execa("docker", ["exec", "--user", user, container.Id, "sh", "-c", script], { reject: false })).stdout;
    const limit = "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null";
    expect(await inside("0", limit)).toBe(String(MEMORY_MB * 2 ** 20));
    expect(await inside("0", "cat /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max 2>/dev/null")).toBe("400");
    expect(await inside("0", "grep NoNewPrivs /proc/1/status")).toMatch(/1$/);
    // The token is a file of root's, and in no variable.
    expect(await inside("0", "stat -c '%u %a' /run/secrets/turnd-token")).toBe("0 600");
    expect(await inside("1000", "cat /run/secrets/turnd-token")).toBe("");
    expect(container.Config.Env.filter((line) => line.startsWith("TURND_TOKEN="))).toEqual([]);
    expect(container.Config.Env).toContain(`CLI_B_API_KEY=${KEY}`);
    expect(container.Config.Env.filter((line) => line.startsWith("SERVICE_"))).toEqual([]);

    // Another thread has another, which this one cannot reach.
    const otherRun = await service.submit(
      await service.thread(),
      "@@command:until [ -e /workspace/go-on ]; do sleep 0.2; done; echo other@@",
    );
    await waitFor(
      "the other's turn",
      async () => (await service.eventsOf(otherRun)).names.includes("svc.turn"),
      240_000,
    );
    const other = (await containers()).find(({ Id }) => Id !== container.Id);
    const address = other?.NetworkSettings.Networks[`svc-${instanceId}`]?.IPAddress;
    expect(address).toMatch(/^\d+\./);
    const ask = `curl -s -o /dev/null -m 3 -w '%{http_code}' http://${address}:8080/v1/health || true`;
    expect(await inside("1000", ask)).toBe("000");
    for (const { Id } of await containers()) await docker("exec", "--user", "1000", Id, "touch", "/workspace/go-on");
    expect(await service.result(runId)).toMatchObject({ status: "completed", output: expect.stringContaining("done") });
    expect(await service.result(otherRun)).toMatchObject({ status: "completed" });
  });

  test("idle, both are stopped and their volumes stay; the next run is the next generation of the same session", async () => {
    await stopped();
    const volumes = await docker("volume", "ls", "--quiet", "--filter", `label=svc.instance=${instanceId}`);
    expect(volumes.split("\n")).toHaveLength(4);
    const runId = await service.submit(threadId, "@@command:cat /workspace/kept@@");
    expect(await service.result(runId)).toMatchObject({
      status: "completed",
      output: expect.stringContaining("first"),
    });
    const { names, types } = await service.eventsOf(runId);
    expect(names).not.toContain("svc.resume_degraded");
    expect(types.at(-1)).toBe("end");
  });

  test("the service killed in the middle of a run finds its container again: none lost, none doubled", async () => {
    const runId = await service.submit(
      threadId,
      "@@command:until [ -e /workspace/go ]; do sleep 0.2; done; echo survived@@",
    );
    await waitFor("the turn", async () => (await service.eventsOf(runId)).names.includes("svc.turn"), 240_000);
    const before = await onlyOne();
    await service.kill("SIGKILL");
    expect((await onlyOne()).Id).toBe(before.Id);
    // What a service that lost its database would have left.
    const otherContainer = ["--label", `svc.instance=${instanceId}`, "--label", `svc.sandbox=${randomUUID()}`];
    await docker("run", "-d", ...otherContainer, "--label", "svc.generation=9", "--entrypoint", "sleep", tag, "600");
    service = await startServiceProcess(directory, env);
    await docker("exec", "--user", "1000", before.Id, "touch", "/workspace/go");
    const result = await service.result(runId);
    expect(result).toMatchObject({ status: "completed", output: expect.stringContaining("survived") });
    const { ids, types } = await service.eventsOf(runId);
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(types.filter((type) => type === "end")).toHaveLength(1);
    expect((await service.call("GET", `/api/agent/runs/${runId}`)).body.run.attempt).toBe(2);
    // The sweep removes the one without a row, and the idle one.
    await stopped();
    expect(generationOf(before)).toBe("2");
  });

  test("a container that is killed in the middle of a run is resumed on its volume, and the run gets its turn's end", async () => {
    const runId = await service.submit(threadId, "@@command:sleep 600@@");
    await waitFor("the turn", async () => (await service.eventsOf(runId)).names.includes("svc.turn"), 240_000);
    const before = await onlyOne();
    await docker("kill", before.Id);
    // turnd of the next generation knows the turn, and that nothing of it is left.
    expect(await service.result(runId)).toMatchObject({
      status: "failed",
      error: { type: expect.not.stringMatching(/^executor_/) },
    });
    const { names } = await service.eventsOf(runId);
    expect(names).not.toContain("svc.resume_degraded");
    expect(generationOf(before)).toBe("3");
  });

  test("a sandbox that cannot start fails its run with the last lines of its log", async () => {
    const other = await startServiceProcess(
      temporaryDirectory((remove) => cleanUps.push(remove)),
      { ...env, SERVICE_SANDBOX_PASS_ENV: "CLI_*,TURND_*", TURND_MAX_TURNS: "none" },
    );
    const runId = await other.submit(await other.thread(), "@@tool-ok:a-word@@");
    expect(await other.result(runId)).toMatchObject({
      status: "failed",
      error: { type: "sandbox_start_failed", message: expect.stringContaining("TURND_MAX_TURNS") },
    });
    const [mine] = (await docker("volume", "ls", "--format", "{{.Name}} {{.Labels}}"))
      .split("\n")
      .filter((line) => line.includes("svc.instance=") && !line.includes(instanceId));
    const otherInstance = /svc\.instance=([0-9a-f-]+)/.exec(mine ?? "")?.[1] ?? "";
    await other.kill("SIGTERM");
    const filter = ["--quiet", "--filter", `label=svc.instance=${otherInstance}`];
    // No container is left of a start that failed.
    expect(await docker("ps", "--all", ...filter)).toBe("");
    for (const kind of ["volume", "network"])
      await docker(kind, "rm", ...(await docker(kind, "ls", ...filter)).split("\n"));
  });
});
