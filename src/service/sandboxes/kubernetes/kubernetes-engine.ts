import { setTimeout as delay } from "node:timers/promises";
import type { CoreV1Api, V1Pod } from "@kubernetes/client-node";
import {
  GRACE_SECONDS,
  TURND_PORT,
  type EngineItem,
  type InstanceName,
  type SandboxEngine,
} from "../sandbox-engine.ts";
import { claimName, claimOf, podName, podOf, secretsOf, type PodSettings } from "./manifests.ts";

export interface KubernetesOptions extends PodSettings {
  readonly namespace: string;
}

const LINES = 20;
const POLL_MS = 500;
/** After its grace the kubelet still has to unmount. */
const GONE_MS = (GRACE_SECONDS + 60) * 1_000;

/**
 * Sandboxes as pods, each with a volume claim; by KUBECONFIG, or as the service account of the service's own pod.
 *
 * @throws where there is neither
 */
export async function openKubernetesEngine(options: KubernetesOptions): Promise<SandboxEngine> {
  // Three seconds and 75 MB: only where it is used.
  const { CoreV1Api: Api, KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromDefault();
  const api: CoreV1Api = config.makeApiClient(Api);
  const { namespace, instanceId } = options;
  const ours = `svc.instance=${instanceId}`;
  const read = (name: InstanceName): Promise<V1Pod | undefined> =>
    api.readNamespacedPod({ name: podName(name), namespace }).catch(ifCode(404));
  const podsOf = async (labelSelector: string): Promise<V1Pod[]> =>
    (await api.listNamespacedPod({ namespace, labelSelector })).items;

  async function find(name: InstanceName): Promise<string | undefined> {
    const pod = await read(name);
    return pod === undefined ? undefined : addressOf(pod);
  }

  async function launch(name: InstanceName, token: string, signal: AbortSignal): Promise<string> {
    // Two generations on one volume would be two owners of one state.
    for (const pod of await podsOf(`${ours},svc.sandbox=${name.id}`)) await end(pod.metadata?.name ?? "", signal);
    await removeSecrets(`${ours},svc.sandbox=${name.id}`);
    signal.throwIfAborted();
    await api.createNamespacedPersistentVolumeClaim({ namespace, body: claimOf(options, name.id) }).catch(ifCode(409));
    for (const body of secretsOf(options, name, token)) await api.createNamespacedSecret({ namespace, body });
    await api.createNamespacedPod({ namespace, body: podOf(options, name) });
    for (;;) {
      const pod = await read(name);
      const address = pod === undefined ? undefined : addressOf(pod);
      if (address !== undefined) return address;
      if (pod === undefined || hasEnded(pod)) throw new Error(`the pod ended at its start: ${describePod(pod)}`);
      try {
        await delay(POLL_MS, undefined, { signal });
      } catch (error) {
        throw new Error(`the pod has not started: ${describePod(pod)}`, { cause: error });
      }
    }
  }

  /** Deletes a pod with its grace, and waits until it is gone: only then may another use its volume. */
  async function end(pod: string, signal?: AbortSignal): Promise<void> {
    await api.deleteNamespacedPod({ name: pod, namespace, gracePeriodSeconds: GRACE_SECONDS }).catch(ifCode(404));
    const deadline = performance.now() + GONE_MS;
    while ((await api.readNamespacedPod({ name: pod, namespace }).catch(ifCode(404))) !== undefined) {
      if (performance.now() > deadline) throw new Error(`the pod ${pod} is not gone after ${GONE_MS} ms`);
      await delay(POLL_MS, undefined, signal === undefined ? {} : { signal });
    }
  }

  async function removeSecrets(labelSelector: string): Promise<void> {
    const { items } = await api.listNamespacedSecret({ namespace, labelSelector });
    for (const { metadata } of items) {
      await api.deleteNamespacedSecret({ name: metadata?.name ?? "", namespace }).catch(ifCode(404));
    }
  }

  async function list(): Promise<EngineItem[]> {
    const pods = await podsOf(ours);
    const claims = await api.listNamespacedPersistentVolumeClaim({ namespace, labelSelector: ours });
    return [
      ...pods.map((pod) => ({
        what: "instance" as const,
        id: pod.metadata?.labels?.["svc.sandbox"] ?? "",
        generation: Number(pod.metadata?.labels?.["svc.generation"]),
        isRunning: addressOf(pod) !== undefined,
      })),
      ...claims.items.map(({ metadata }) => ({
        what: "volume" as const,
        id: metadata?.labels?.["svc.sandbox"] ?? "",
        createdAt: metadata?.creationTimestamp ?? new Date(),
      })),
    ];
  }

  return {
    kind: "kubernetes",
    spec: { image: options.image, ...options.limits, namespace, volume_gb: options.volumeGb },
    launch,
    find,
    async lastLines(name) {
      const log = await api
        .readNamespacedPodLog({ name: podName(name), namespace, tailLines: LINES })
        .catch(ifCode(400, 404));
      return log?.trim() ?? "";
    },
    async halt({ id, generation }) {
      const labels = `${ours},svc.sandbox=${id},svc.generation=${generation}`;
      // A start that was cut short may have made secrets and no pod.
      for (const pod of await podsOf(labels)) await end(pod.metadata?.name ?? "");
      await removeSecrets(labels);
    },
    async remove(id) {
      const labels = `${ours},svc.sandbox=${id}`;
      for (const pod of await podsOf(labels)) await end(pod.metadata?.name ?? "");
      await removeSecrets(labels);
      await api.deleteNamespacedPersistentVolumeClaim({ name: claimName(id), namespace }).catch(ifCode(404));
    },
    list,
    async look() {
      try {
        await api.listNamespacedPod({ namespace, labelSelector: ours, limit: 1 });
        return { ok: true };
      } catch (error) {
        const code = error instanceof Error && "code" in error ? ` (${String(error.code)})` : "";
        return { ok: false, message: `the API of Kubernetes does not answer, or refuses${code}` };
      }
    },
  };
}

/** Where a pod that runs, and is not being ended, is reached. */
function addressOf({ metadata, status }: V1Pod): string | undefined {
  if (metadata?.deletionTimestamp !== undefined || status?.phase !== "Running" || status.podIP === undefined)
    return undefined;
  return `http://${status.podIP.includes(":") ? `[${status.podIP}]` : status.podIP}:${TURND_PORT}`;
}

function hasEnded({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp !== undefined || status?.phase === "Failed" || status?.phase === "Succeeded";
}

/** Why it is where it is, in the kubelet's words: no image, no seccomp profile, no node with room. */
function describePod(pod: V1Pod | undefined): string {
  if (pod?.status === undefined) return "it is gone";
  const { phase = "unknown", conditions = [], containerStatuses = [] } = pod.status;
  const reasons = [
    ...conditions.filter(({ status }) => status === "False").map(({ message }) => message),
    ...containerStatuses.map(({ state }) =>
      [state?.waiting?.reason, state?.waiting?.message].filter(Boolean).join(" "),
    ),
  ];
  return [phase, ...reasons.filter((text) => text !== undefined && text !== "")].join("; ");
}

/** Takes an answer of these statuses for nothing; every other fault goes on. */
function ifCode(...codes: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (typeof code === "number" && codes.includes(code)) return undefined;
    throw error;
  };
}
