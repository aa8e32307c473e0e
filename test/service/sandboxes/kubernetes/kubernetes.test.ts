import { expect, test, vi } from "vitest";
import { openKubernetesEngine } from "../../../../src/service/sandboxes/kubernetes/kubernetes-engine.ts";
import { startClusterServer } from "./cluster-server.ts";

// No cluster is to be had here: an API server is simulated, which takes only what the schemas of Kubernetes allow.

const ID = "0b8f5f7e-6d0c-4a4e-9a53-d72e00000001";
const INSTANCE = "6eb6dc80-d239-42a2-96ab-d72e00000001";
const never = new AbortController().signal;

async function open() {
  const cluster = await startClusterServer("agents");
  vi.stubEnv("KUBECONFIG", cluster.kubeconfig);
  const engine = await openKubernetesEngine({
    namespace: "agents",
    instanceId: INSTANCE,
    image: "turnd-sandbox",
    limits: { cpus: 1.5, memoryMb: 2_048, pids: 512 },
    env: { CLI_B_API_KEY: "FAKE-SENTINEL-KEY", CLI_B_MODEL: "a-model" },
    volumeGb: 7,
    storageClass: "fast",
  });
  vi.unstubAllEnvs();
  return { cluster, engine };
}

const first = { id: ID, generation: 1 };
const second = { id: ID, generation: 2 };

test("a start makes a claim, two secrets and a pod that the schemas accept, limited by the settings", async () => {
  const { cluster, engine } = await open();
  expect(await engine.look()).toEqual({ ok: true });
  expect(await engine.launch(first, "a-token", never)).toBe("http://10.1.2.3:8080");
  const names = [
    `PersistentVolumeClaim/svc-${ID}`,
    `Pod/svc-${ID}-1`,
    `Secret/svc-${ID}-1-env`,
    `Secret/svc-${ID}-1-token`,
  ];
  expect(cluster.names()).toEqual(names);
  const pod = cluster.get("Pod", `svc-${ID}-1`);
  expect(pod?.spec).toMatchObject({
    restartPolicy: "Never",
    terminationGracePeriodSeconds: 9,
    automountServiceAccountToken: false,
    containers: [
      {
        image: "turnd-sandbox",
        resources: { limits: { cpu: "1.5", memory: "2048Mi" } },
        securityContext: {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        },
      },
    ],
  });
  expect(pod?.metadata.labels).toMatchObject({ "svc.instance": INSTANCE, "svc.sandbox": ID, "svc.generation": "1" });
  // Neither the token nor a key stands in the pod.
  expect(JSON.stringify(pod)).not.toMatch(/a-token|FAKE-SENTINEL/);
  expect(cluster.get("Secret", `svc-${ID}-1-token`)).toMatchObject({ stringData: { "turnd-token": "a-token" } });
  expect(cluster.get("PersistentVolumeClaim", `svc-${ID}`)?.spec).toMatchObject({
    accessModes: ["ReadWriteOnce"],
    storageClassName: "fast",
    resources: { requests: { storage: "7Gi" } },
  });
});

test("the next generation begins only when the old pod is gone, on the same claim", async () => {
  const { cluster, engine } = await open();
  await engine.launch(first, "one", never);
  cluster.lingers = 3;
  const starting = engine.launch(second, "two", never);
  await vi.waitFor(() => expect(cluster.deletions).toContainEqual({ name: `svc-${ID}-1`, graceSeconds: "9" }));
  expect(cluster.names()).not.toContain(`Pod/svc-${ID}-2`);
  await starting;
  expect(cluster.names()).toEqual([
    `PersistentVolumeClaim/svc-${ID}`,
    `Pod/svc-${ID}-2`,
    `Secret/svc-${ID}-2-env`,
    `Secret/svc-${ID}-2-token`,
  ]);
  expect(await engine.find(first)).toBeUndefined();
  expect(await engine.find(second)).toBe("http://10.1.2.3:8080");
});

test("a stop keeps the claim, a removal does not; both may be repeated", async () => {
  const { cluster, engine } = await open();
  await engine.launch(first, "one", never);
  await engine.halt(first);
  await engine.halt(first);
  expect(cluster.names()).toEqual([`PersistentVolumeClaim/svc-${ID}`]);
  expect(await engine.list()).toEqual([{ what: "volume", id: ID, createdAt: expect.any(Date) }]);
  await engine.launch(second, "two", never);
  expect(await engine.list()).toContainEqual({ what: "instance", id: ID, generation: 2, isRunning: true });
  await engine.remove(ID);
  await engine.remove(ID);
  expect(cluster.names()).toEqual([]);
});

test("a pod that cannot start is reported with the kubelet's reason and its own log", async () => {
  const { cluster, engine } = await open();
  cluster.nextStatus = {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes are available" }],
  };
  await expect(engine.launch(first, "one", AbortSignal.timeout(700))).rejects.toThrow(
    "the pod has not started: Pending; 0/3 nodes are available",
  );
  cluster.nextStatus = { phase: "Failed" };
  cluster.log = "sandbox: TURND_MAX_TURNS is none\n";
  await expect(engine.launch(second, "two", never)).rejects.toThrow("the pod ended at its start: Failed");
  expect(await engine.lastLines(second)).toBe("sandbox: TURND_MAX_TURNS is none");
  cluster.isRefusing = true;
  expect(await engine.look()).toEqual({ ok: false, message: expect.stringContaining("(403)") });
  await expect(engine.find(second)).rejects.toMatchObject({ code: 403 });
});
