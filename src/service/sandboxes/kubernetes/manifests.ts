import type { V1PersistentVolumeClaim, V1Pod, V1Secret } from "@kubernetes/client-node";
import { defined } from "../../../kit/defined.ts";
import {
  CAPABILITIES,
  GRACE_SECONDS,
  OWN_VARIABLES,
  TOKEN_FILE,
  TURND_PORT,
  type InstanceName,
  type SandboxLimits,
  ownLabels,
} from "../sandbox-engine.ts";

export interface PodSettings {
  readonly image: string;
  readonly limits: SandboxLimits;
  readonly env: Readonly<Record<string, string>>;
  readonly volumeGb: number;
  readonly storageClass: string | undefined;
  readonly instanceId: string;
}

const TOKEN_KEY = TOKEN_FILE.slice(TOKEN_FILE.lastIndexOf("/") + 1);
const TOKEN_DIRECTORY = TOKEN_FILE.slice(0, TOKEN_FILE.lastIndexOf("/"));

function labelsOf(instanceId: string, id: string, generation?: number): Record<string, string> {
  return { "app.kubernetes.io/name": "turnd-sandbox", ...ownLabels(instanceId, id, generation) };
}

export function podName({ id, generation }: InstanceName): string {
  return `svc-${id}-${generation}`;
}

/** Two secrets of a start: its token, mounted, and the variables. */
export function secretNames(name: InstanceName): { readonly token: string; readonly variables: string } {
  return { token: `${podName(name)}-token`, variables: `${podName(name)}-env` };
}

export function claimName(id: string): string {
  return `svc-${id}`;
}

export function secretsOf({ env, instanceId }: PodSettings, name: InstanceName, token: string): V1Secret[] {
  const names = secretNames(name);
  const secret = (secretName: string, stringData: Record<string, string>): V1Secret => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: secretName, labels: labelsOf(instanceId, name.id, name.generation) },
    type: "Opaque",
    immutable: true,
    stringData,
  });
  return [secret(names.token, { [TOKEN_KEY]: token }), secret(names.variables, { ...env })];
}

export function claimOf({ instanceId, volumeGb, storageClass }: PodSettings, id: string): V1PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: claimName(id), labels: labelsOf(instanceId, id) },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: `${volumeGb}Gi` } },
      ...defined({ storageClassName: storageClass }),
    },
  };
}

/** A sandbox's pod: as `sandbox/deploy/kubernetes.yaml` has it, with the service's limits. */
export function podOf(settings: PodSettings, name: InstanceName): V1Pod {
  const { limits, instanceId } = settings;
  const secrets = secretNames(name);
  const memory = `${limits.memoryMb}Mi`;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: podName(name), labels: labelsOf(instanceId, name.id, name.generation) },
    spec: {
      // The next generation is the service's to start: a token and an address belong to one.
      restartPolicy: "Never",
      terminationGracePeriodSeconds: GRACE_SECONDS,
      // What runs in here is an agent; it has no business with the cluster.
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: { sysctls: [{ name: "kernel.shm_rmid_forced", value: "1" }] },
      containers: [
        {
          name: "sandbox",
          image: settings.image,
          imagePullPolicy: "IfNotPresent",
          ports: [{ name: "http", containerPort: TURND_PORT }],
          envFrom: [{ secretRef: { name: secrets.variables } }],
          // A fresh volume's directories belong to root; these are ours to give to the CLIs' user.
          env: Object.entries({ ...OWN_VARIABLES, TURND_ADOPT_VOLUMES: "yes" }).map(([variable, value]) => ({
            name: variable,
            value,
          })),
          readinessProbe: { httpGet: { path: "/v1/ready", port: "http" }, periodSeconds: 10, timeoutSeconds: 5 },
          securityContext: {
            // turnd is root so that the CLIs, which are uid 1000, can neither read its token nor end it.
            runAsUser: 0,
            runAsGroup: 0,
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ["ALL"], add: [...CAPABILITIES] },
            seccompProfile: { type: "Localhost", localhostProfile: "turnd-sandbox.json" },
          },
          resources: {
            requests: { cpu: "500m", memory: `${Math.min(1_024, limits.memoryMb)}Mi`, "ephemeral-storage": "1Gi" },
            limits: { cpu: String(limits.cpus), memory, "ephemeral-storage": "6Gi" },
          },
          volumeMounts: [
            { name: "data", mountPath: "/var/lib/turnd", subPath: "state" },
            { name: "data", mountPath: "/workspace", subPath: "workspace" },
            { name: "home", mountPath: "/home/sandbox" },
            { name: "tmp", mountPath: "/tmp" },
            { name: "run", mountPath: "/run" },
            { name: "token", mountPath: TOKEN_DIRECTORY, readOnly: true },
          ],
        },
      ],
      volumes: [
        { name: "data", persistentVolumeClaim: { claimName: claimName(name.id) } },
        { name: "home", emptyDir: { sizeLimit: "2Gi" } },
        { name: "tmp", emptyDir: { sizeLimit: "2Gi" } },
        { name: "run", emptyDir: { medium: "Memory", sizeLimit: "64Mi" } },
        { name: "token", secret: { secretName: secrets.token, defaultMode: 0o400 } },
      ],
    },
  };
}
