import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execaSync } from "execa";
import { Deployment, type IDeployment } from "kubernetes-models/apps/v1";
import { Job, type IJob } from "kubernetes-models/batch/v1";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Role, RoleBinding, type IRole } from "kubernetes-models/rbac.authorization.k8s.io/v1";
import { ConfigMap, Namespace, Service, ServiceAccount } from "kubernetes-models/v1";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { z } from "zod";
import { podOf } from "../../src/service/sandboxes/kubernetes/manifests.ts";
import { readSettings, SettingsSchema } from "../../src/service/settings/settings.ts";
import { temporaryDirectory } from "../harness/temporary.ts";

const FILE = "sandbox/deploy/kubernetes-service.yaml";

/** Each kind, and the module its type is from. */
const KINDS = {
  ConfigMap: { make: ConfigMap, module: "v1" },
  Deployment: { make: Deployment, module: "apps/v1" },
  Job: { make: Job, module: "batch/v1" },
  Namespace: { make: Namespace, module: "v1" },
  NetworkPolicy: { make: NetworkPolicy, module: "networking.k8s.io/v1" },
  PodDisruptionBudget: { make: PodDisruptionBudget, module: "policy/v1" },
  Role: { make: Role, module: "rbac.authorization.k8s.io/v1" },
  RoleBinding: { make: RoleBinding, module: "rbac.authorization.k8s.io/v1" },
  Service: { make: Service, module: "v1" },
  ServiceAccount: { make: ServiceAccount, module: "v1" },
} as const;

const Document = z.looseObject({
  kind: z.enum(Object.keys(KINDS) as (keyof typeof KINDS)[]),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
});
type Document = z.infer<typeof Document>;

const documents: Document[] = parseAllDocuments(readFileSync(FILE, "utf8")).map((document) => {
  if (document.errors.length > 0) throw new Error(`${FILE}: ${document.errors.join("; ")}`);
  return Document.parse(document.toJS());
});

function find(kind: keyof typeof KINDS, name: string): Document {
  const found = documents.find((document) => document.kind === kind && document.metadata.name === name);
  if (found === undefined) throw new Error(`${FILE} has no ${kind} ${name}`);
  return found;
}

const api = find("Deployment", "svc-api") as unknown as IDeployment;
const worker = find("Deployment", "svc-worker") as unknown as IDeployment;
const migrate = find("Job", "svc-migrate") as unknown as IJob;
const podTemplates = [api, worker, migrate].map(({ spec }) => spec?.template.spec);
const settings = z.record(z.string(), z.string()).parse(find("ConfigMap", "svc")["data"]);

test("every manifest is valid by the schema of Kubernetes, and has no field that the schema does not have", () => {
  for (const document of documents) new KINDS[document.kind].make(document as never).validate();
  expect(new Set(documents.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
  // The schema passes over what it does not know; the types made from it do not.
  const directory = mkdtempSync(join("test/sandbox", ".types-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const typed = (document: Document, at: number) =>
    `export const d${at}: import("kubernetes-models/${KINDS[document.kind].module}").I${document.kind} = ${JSON.stringify(document)};`;
  const wrong = structuredClone(find("Service", "svc"));
  Object.assign(wrong, { spec: { selectors: {} } });
  writeFileSync(join(directory, "manifests.ts"), [...documents, wrong].map(typed).join("\n"));
  const flags = ["--noEmit", "--strict", "--skipLibCheck", "--module", "nodenext", "--ignoreConfig"];
  const { stdout } = execaSync("tsc", [...flags, join(directory, "manifests.ts")], {
    preferLocal: true,
    reject: false,
  });
  expect(stdout.trim().split("\n")).toEqual([expect.stringMatching(/selectors.* does not exist/)]);
});

test("the workers' account may do what the service asks of the API, and nothing else", () => {
  const source = readFileSync("src/service/sandboxes/kubernetes/kubernetes-engine.ts", "utf8");
  const verbs: Record<string, string> = { read: "get", list: "list", create: "create", delete: "delete" };
  const resources: Record<string, string> = {
    Pod: "pods",
    PodLog: "pods/log",
    Secret: "secrets",
    PersistentVolumeClaim: "persistentvolumeclaims",
  };
  const asked = [...source.matchAll(/api\s*\.(read|list|create|delete|patch|replace)Namespaced(\w+)\(/g)].map(
    ([, verb = "", kind = ""]) => `${verbs[verb]} ${resources[kind]}`,
  );
  const allowed = (find("Role", "svc-worker") as unknown as IRole).rules?.flatMap(({ resources: names, verbs: may }) =>
    (names ?? []).flatMap((name) => may.map((verb) => `${verb} ${name}`)),
  );
  expect(new Set(allowed)).toEqual(new Set(asked));
  expect(find("Role", "svc-worker").metadata.namespace).toBe(settings["SERVICE_K8S_NAMESPACE"]);
  expect(find("RoleBinding", "svc-worker").metadata.namespace).toBe(settings["SERVICE_K8S_NAMESPACE"]);
  // No other pod has an account's token.
  const accounts = podTemplates.map((pod) => [pod?.serviceAccountName, pod?.automountServiceAccountToken]);
  expect(accounts).toEqual([
    [undefined, false],
    ["svc-worker", true],
    [undefined, false],
  ]);
});

test("no container is privileged, and each is limited and of the image's own user", () => {
  const uid = Number(/^USER (\d+):/m.exec(readFileSync("Dockerfile.service", "utf8"))?.[1]);
  for (const pod of podTemplates) {
    expect(pod?.securityContext).toEqual({
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: uid,
      fsGroup: uid,
      seccompProfile: { type: "RuntimeDefault" },
    });
    for (const { securityContext, resources } of pod?.containers ?? []) {
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(Object.keys(resources?.limits ?? {}).toSorted()).toEqual(["ephemeral-storage", "memory"]);
    }
    for (const key of ["hostNetwork", "hostPID", "hostIPC"]) expect(pod).not.toHaveProperty(key);
    for (const volume of pod?.volumes ?? []) expect(volume).not.toHaveProperty("hostPath");
  }
});

test("its settings are settings of the service, and secrets are files of the secret that it mounts", () => {
  const directory = temporaryDirectory(onTestFinished);
  const text = readFileSync(FILE, "utf8");
  const env: Record<string, string> = { SERVICE_HOST: "0.0.0.0" };
  for (const [name, value] of Object.entries(settings)) {
    expect(Object.keys(SettingsSchema.shape)).toContain(name);
    expect(name).not.toMatch(/(TOKEN|SECRET|PASSWORD|^DATABASE_URL)$/);
    const [, file] = /^\/run\/secrets\/svc\/(.+)$/.exec(value) ?? [];
    if (name.endsWith("_FILE")) {
      expect(text).toContain(`--from-file=${file}`);
      writeFileSync(
        join(directory, file ?? ""),
        file === "database-url" ? "postgres://svc@db/svc" : `${file}-${"x".repeat(40)}`,
      );
    }
    env[name] = file === undefined ? value : join(directory, file);
  }
  const read = readSettings(env, 10_001);
  expect(read.isLocalOnly).toBe(false);
  expect(read.values).toMatchObject({ SERVICE_SANDBOX: "kubernetes", SERVICE_MIGRATE: false });
  // 288 is 0440, for the pods' group.
  for (const pod of podTemplates) {
    expect(pod?.volumes?.[0]).toEqual({ name: "secrets", secret: { secretName: "svc", defaultMode: 0o440 } });
    expect(pod?.containers[0]?.volumeMounts?.[0]?.mountPath).toBe("/run/secrets/svc");
  }
});

test("probes ask what is there, and a stop has the time that the service takes", () => {
  const seconds = readSettings({}, 1).values.SERVICE_SHUTDOWN_MS / 1_000 + 1;
  for (const deployment of [api, worker]) {
    const pod = deployment.spec?.template.spec;
    const [container] = pod?.containers ?? [];
    const pause = Number(container?.lifecycle?.preStop?.exec?.command?.at(-1) ?? 0);
    expect(pod?.terminationGracePeriodSeconds).toBeGreaterThan(seconds + pause);
    const paths = Object.keys(JSON.parse(readFileSync("openapi.service.json", "utf8")).paths);
    for (const probe of ["startupProbe", "readinessProbe", "livenessProbe"] as const) {
      expect(paths).toContain(container?.[probe]?.httpGet?.path);
      expect(container?.ports?.map(({ name }) => name)).toEqual([container?.[probe]?.httpGet?.port]);
    }
    expect(container?.livenessProbe?.httpGet?.path).toBe("/api/system/health");
  }
});

test("selectors find their pods, and the policy of sandboxes lets the workers alone in", () => {
  const isSelected = (labels: Record<string, string> = {}, selector: Record<string, string> = {}) =>
    Object.entries(selector).every(([name, value]) => labels[name] === value);
  const labelsOfPods = [api, worker].map(({ spec }) => spec?.template.metadata?.labels ?? {});
  const chosen = (selector: Record<string, string> | undefined) =>
    labelsOfPods.map((labels) => isSelected(labels, selector));
  const spec = (document: Document) => z.looseObject({ spec: z.any() }).parse(document).spec;
  expect(chosen(spec(find("Service", "svc")).selector)).toEqual([true, false]);
  expect(chosen(spec(find("PodDisruptionBudget", "svc-api")).selector.matchLabels)).toEqual([true, false]);
  expect(chosen(spec(find("PodDisruptionBudget", "svc-worker")).selector.matchLabels)).toEqual([false, true]);
  for (const deployment of [api, worker])
    expect(isSelected(deployment.spec?.template.metadata?.labels, deployment.spec?.selector.matchLabels)).toBe(true);

  const policy = spec(find("NetworkPolicy", "sandboxes"));
  expect(policy.podSelector).toEqual({});
  expect(policy.ingress).toHaveLength(1);
  const [{ from, ports }] = policy.ingress;
  expect(from).toHaveLength(1);
  expect(chosen(from[0].podSelector.matchLabels)).toEqual([false, true]);
  expect(from[0].namespaceSelector.matchLabels).toEqual({ "kubernetes.io/metadata.name": "svc" });
  // The name of the port that the service gives the pods it makes.
  const sandbox = podOf(
    {
      image: "turnd-sandbox",
      limits: { cpus: 1, memoryMb: 512, pids: 64 },
      env: {},
      volumeGb: 1,
      storageClass: undefined,
      instanceId: "i",
    },
    { id: "s", generation: 1 },
  );
  expect(sandbox.spec?.containers[0]?.ports?.map(({ name }) => name)).toEqual([ports[0].port]);
});
