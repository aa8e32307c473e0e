import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { z } from "zod";
import {
  createVolume,
  describeImage,
  prepareVolume,
  shareSandbox,
  startModel,
  TOKEN,
  type Sandbox,
  type SandboxOptions,
} from "../harness/sandbox.ts";
import { REPOSITORY } from "../harness/temporary.ts";

const DEPLOY = "sandbox/deploy";
/** Of the probe's: those that write and run files. `test/e2e/probe.test.ts` plays all of them. */
const SCENARIOS = ["write-and-run", "edit", "resume", "cancel"];
/** For a machine that others load. */
const LIMIT_MS = 300_000;

const ComposeService = z.object({
  read_only: z.literal(true),
  tmpfs: z.array(z.string()),
  pids_limit: z.int().positive(),
  mem_limit: z.string().regex(/^\d+g$/),
  sysctls: z.record(z.string(), z.number()),
  cap_drop: z.tuple([z.literal("ALL")]),
  cap_add: z.array(z.string()),
  security_opt: z.array(z.string()),
  volumes: z.array(z.string()),
  environment: z.object({ TURND_TOKEN_FILE: z.string().startsWith("/run/secrets/") }),
  secrets: z.tuple([z.string()]),
});

/** The engine is given a profile's text where its command line and compose take a path. */
function toSecurityOption(option: string, directory: string): string {
  const [, path] = /^seccomp[=:](.+)$/.exec(option) ?? [];
  return path === undefined ? option : `seccomp=${readFileSync(join(REPOSITORY, directory, path), "utf8")}`;
}

/** What the README's `docker run` asks of the engine. */
async function fromReadme(): Promise<SandboxOptions> {
  const readme = readFileSync(join(REPOSITORY, "README.md"), "utf8");
  const command = /^docker run (-d (?:[^\n]|\\\n)*) turnd-sandbox --scripted$/m.exec(readme)?.[1] ?? "";
  const words = command.replaceAll("\\\n", " ").split(/\s+/);
  const given: Record<string, string[]> = {};
  for (let index = 1; index < words.length; index += 2) (given[words[index] ?? ""] ??= []).push(words[index + 1] ?? "");
  const { "--security-opt": securityOptions = [], "-v": mounts = [], ...others } = given;
  // The tests publish a port of their own, and have a token of their own.
  expect(others).toEqual({
    "-p": ["127.0.0.1:8080:8080"],
    "-e": ['TURND_TOKEN="$token"'],
    "--pids-limit": ["2048"],
    "--memory": ["4g"],
    "--sysctl": ["kernel.shm_rmid_forced=1"],
  });
  const limits = { processes: 2_048, memoryBytes: 4 * 2 ** 30 };
  const volumes: Record<string, string> = {};
  for (const mount of mounts) volumes[mount.split(":")[1] ?? ""] = await createVolume();
  const sysctls = { "kernel.shm_rmid_forced": "1" };
  return { volumes, limits, sysctls, securityOptions: securityOptions.map((option) => toSecurityOption(option, ".")) };
}

/** What `compose.yaml` asks of the engine. */
async function fromCompose(): Promise<SandboxOptions> {
  const document = parse(readFileSync(join(REPOSITORY, "sandbox/deploy/compose.yaml"), "utf8"));
  const service = ComposeService.parse(document.services.sandbox);
  const volumes: Record<string, string> = {};
  for (const volume of service.volumes) volumes[volume.split(":")[1] ?? ""] = await createVolume();
  // Compose mounts the file of a secret under its name there.
  const secrets = await createVolume();
  await prepareVolume(secrets, `umask 077; printf '%s\\n' '${TOKEN}' >/volume/${service.secrets[0]}`);
  volumes["/run/secrets"] = secrets;
  return {
    hasReadOnlyRoot: true,
    capabilities: service.cap_add,
    securityOptions: service.security_opt.map((option) => toSecurityOption(option, DEPLOY)),
    limits: { processes: service.pids_limit, memoryBytes: Number.parseInt(service.mem_limit, 10) * 2 ** 30 },
    sysctls: Object.fromEntries(Object.entries(service.sysctls).map(([name, value]) => [name, String(value)])),
    tmpfs: Object.fromEntries(service.tmpfs.map((entry) => entry.split(/:(.*)/))),
    volumes,
    // In place of the variable that every other container of the tests is given.
    env: { TURND_TOKEN: "", TURND_TOKEN_FILE: service.environment.TURND_TOKEN_FILE },
  };
}

const KubernetesContainer = z.object({
  env: z.array(z.object({ name: z.string(), value: z.string().optional() })),
  securityContext: z.object({
    runAsUser: z.number(),
    runAsGroup: z.number(),
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal("ALL")]), add: z.array(z.string()) }),
    seccompProfile: z.object({ type: z.literal("Localhost"), localhostProfile: z.literal("turnd-sandbox.json") }),
  }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const KubernetesVolume = z.object({ name: z.string(), emptyDir: z.record(z.string(), z.unknown()) });

/** What the manifest asks of a kubelet, in the words of the engine. */
async function fromKubernetes(): Promise<SandboxOptions> {
  const documents = parseAllDocuments(readFileSync(join(REPOSITORY, "sandbox/deploy/kubernetes.yaml"), "utf8"));
  const statefulSet = documents.map((document) => document.toJS()).find(({ kind }) => kind === "StatefulSet");
  const pod = statefulSet.spec.template.spec;
  const container = KubernetesContainer.parse(pod.containers[0]);
  const emptyDirs = new Map(
    z
      .array(KubernetesVolume)
      .parse(pod.volumes)
      .map(({ name, emptyDir }) => [name, emptyDir]),
  );
  const volumes: Record<string, string> = {};
  for (const { name, mountPath } of container.volumeMounts) {
    const volume = await createVolume();
    volumes[mountPath] = volume;
    // As the kubelet makes them: a subPath is root's, an emptyDir everybody's without the sticky bit. What is not empty
    // the engine leaves as it is.
    const mode = emptyDirs.has(name) ? "777" : "750";
    await prepareVolume(volume, `mkdir /volume/lost+found; chmod 700 /volume/lost+found; chmod ${mode} /volume`);
  }
  const { securityContext } = container;
  return {
    hasReadOnlyRoot: true,
    capabilities: securityContext.capabilities.add,
    securityOptions: ["no-new-privileges:true", toSecurityOption("seccomp=seccomp-kubernetes.json", DEPLOY)],
    user: `${securityContext.runAsUser}:${securityContext.runAsGroup}`,
    env: Object.fromEntries(container.env.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]]))),
    volumes,
  };
}

describeImage("deployed", { timeout: LIMIT_MS }, () => {
  let started: Awaited<ReturnType<typeof startModel>>;
  beforeAll(async () => {
    started = await startModel();
  });
  afterAll(() => started.model.close());

  /** A test of any of them. */
  function planAndReview(sandbox: () => Sandbox): void {
    test("a plan and a review of CLI B complete, in its own sandbox", async () => {
      for (const mode of ["plan", "review"]) {
        const input = `@@command:touch /workspace/by-${mode}; echo looked@@`;
        const result = await sandbox().run({ executor: "cli-b", mode, input });
        expect([mode, result]).toEqual([mode, expect.objectContaining({ status: "completed" })]);
        if (mode === "review") continue;
        // Of stderr and of stdout: the CLI reads them side by side.
        for (const line of ["Read-only file system", "looked"]) expect(result.output).toContain(line);
      }
      expect((await sandbox().exec(["ls", "/workspace"])).output).not.toContain("by-");
    });
  }

  describe("as in README.md", () => {
    const sandbox = shareSandbox(async () => {
      const options = await fromReadme();
      return { ...options, env: { ...options.env, ...started.env } };
    });

    planAndReview(sandbox);
  });

  describe.each([
    { file: "compose.yaml", read: fromCompose },
    { file: "kubernetes.yaml", read: fromKubernetes },
  ])("as in $file", ({ read }) => {
    const sandbox = shareSandbox(async () => {
      const options = await read();
      return { ...options, env: { ...options.env, ...started.env } };
    });

    planAndReview(sandbox);

    test("it is ready, and a turn of each CLI completes", async () => {
      expect((await sandbox().request("GET", "/v1/ready")).status).toBe(200);
      expect((await fetch(`${sandbox().url}/v1/turns`)).status).toBe(401);
      for (const executor of ["cli-a", "cli-b"]) {
        expect(await sandbox().run({ executor, input: "@@tool-ok:a-word@@" })).toMatchObject({
          status: "completed",
          output: "The command gave: a-word",
        });
      }
    });

    test("the doctor finds no fault", async () => {
      const { output, exitCode } = await sandbox().exec(["turnd", "doctor"]);
      expect(output.split("\n").filter((line) => line.startsWith("fault"))).toEqual([]);
      expect([exitCode, output]).toEqual([0, expect.stringContaining("ok    home:")]);
    });

    test("a probe of a CLI plays its scenarios and leaves nothing", async () => {
      const named = SCENARIOS.flatMap((name) => ["--scenario", name]);
      const { output, exitCode } = await sandbox().exec(["turnd", "probe", "cli-b", ...named]);
      expect([exitCode, output]).toEqual([0, expect.stringContaining(` ${SCENARIOS.length} scenarios: 0 changes`)]);
      expect((await sandbox().exec(["find", "/tmp", "-name", "turnd-*"])).output).toBe("");
    });

    test("only root can put anything beside what the front and turnd run from", async () => {
      const modes = await sandbox().exec(["stat", "-c", "%n %u %a", "/run", "/run/sandbox", "/tmp", "/var/lib/turnd"]);
      expect(modes.output).toBe("/run 0 755\n/run/sandbox 0 755\n/tmp 0 1777\n/var/lib/turnd 0 711\n");
      expect((await sandbox().exec(["touch", "/etc/attack"])).output).toContain("Read-only file system");
      const { output } = await sandbox().exec(["grep", "NoNewPrivs", "/proc/1/status"]);
      expect(output).toMatch(/NoNewPrivs:\s*1/);
    });
  });
});
