import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "pino";
import { openDockerEngine } from "../sandboxes/docker/docker-engine.ts";
import { createEmbeddedSandboxes } from "../sandboxes/embedded/embedded.ts";
import { findClosedDirectory } from "../sandboxes/embedded/enterable.ts";
import type { User } from "../sandboxes/embedded/user-task.ts";
import { readInstanceId } from "../sandboxes/instance-id.ts";
import { openKubernetesEngine } from "../sandboxes/kubernetes/kubernetes-engine.ts";
import { createSandboxPool } from "../sandboxes/pool.ts";
import { passedVariables, type SandboxEngine } from "../sandboxes/sandbox-engine.ts";
import type { Sandboxes } from "../sandboxes/sandboxes.ts";
import { createStaticSandboxes } from "../sandboxes/static/static.ts";
import type { Secrets } from "./secrets.ts";
import { SettingsError } from "../settings/file.ts";
import type { Settings } from "../settings/settings.ts";
import { runConcurrency } from "./start-workers.ts";
import type { Storage } from "../storage/storage.ts";

export interface SandboxWiring {
  readonly settings: Settings;
  readonly logger: Logger;
  /** Starts turnd where SERVICE_TURND_CMD is not set. */
  readonly turndCommand: readonly string[];
  readonly uid: number;
}

/** What sandboxes need that is there only once the service has begun to start. */
export interface SandboxMeans {
  readonly storage: Storage;
  readonly secrets: Secrets;
}

const SECCOMP = join(import.meta.dirname, "../../../sandbox/seccomp.json");

/**
 * Makes the sandboxes of the chosen kind, once there is a storage.
 *
 * @throws {SettingsError} where the CLIs would run as the service's own user and could read its secrets, or where their
 * user cannot come to its workspaces
 */
export async function createSandboxes(wiring: SandboxWiring): Promise<(means: SandboxMeans) => Promise<Sandboxes>> {
  const { settings, logger } = wiring;
  const { values } = settings;
  const kind = values.SERVICE_SANDBOX;
  switch (kind) {
    case "static":
      return async ({ storage }) =>
        createStaticSandboxes({ storage, urls: values.SERVICE_TURND_URLS, token: settings.turndToken });
    case "embedded": {
      const owner = readOwner(wiring);
      if (owner !== undefined) await assertEnterable(settings.dataDirectory, owner);
      return async ({ storage, secrets }) =>
        createEmbeddedSandboxes({
          storage,
          owner,
          logger,
          dataDirectory: settings.dataDirectory,
          command: values.SERVICE_TURND_CMD?.split(/\s+/).filter(Boolean) ?? wiring.turndCommand,
          env: settings.env,
          sandboxSecret: secrets.sandbox,
          startMs: values.SERVICE_SANDBOX_START_MS,
          stopMs: values.SERVICE_SHUTDOWN_MS,
          maxTurns: runConcurrency(settings),
        });
    }
    case "docker":
    case "kubernetes":
      return async (means) => {
        const engine = await openEngine(kind, settings, await readInstanceId(means.storage));
        return createSandboxPool({
          storage: means.storage,
          engine,
          logger,
          scope: values.SERVICE_SANDBOX_SCOPE,
          sandboxSecret: means.secrets.sandbox,
          max: values.SERVICE_SANDBOX_MAX,
          idleMs: values.SERVICE_SANDBOX_IDLE_MS,
          startMs: values.SERVICE_SANDBOX_START_MS,
        });
      };
  }
}

/** The variables of each sandbox's turnd. */
export function sandboxVariables({ values, env }: Pick<Settings, "values" | "env">): Record<string, string> {
  return {
    // In the image all sessions share one workspace: here they are several threads'.
    ...(values.SERVICE_SANDBOX_SCOPE === "user" ? { TURND_SESSION_WORKSPACE: "own" } : {}),
    ...passedVariables(env, values.SERVICE_SANDBOX_PASS_ENV),
  };
}

async function openEngine(
  kind: SandboxEngine["kind"],
  { values, env }: Settings,
  instanceId: string,
): Promise<SandboxEngine> {
  const common = {
    instanceId,
    image: values.SERVICE_SANDBOX_IMAGE,
    limits: {
      cpus: values.SERVICE_SANDBOX_CPUS,
      memoryMb: values.SERVICE_SANDBOX_MEMORY_MB,
      pids: values.SERVICE_SANDBOX_PIDS,
    },
    env: sandboxVariables({ values, env }),
  };
  switch (kind) {
    case "kubernetes":
      return openKubernetesEngine({
        ...common,
        namespace: values.SERVICE_K8S_NAMESPACE,
        storageClass: values.SERVICE_K8S_STORAGE_CLASS,
        volumeGb: values.SERVICE_SANDBOX_VOLUME_GB,
      });
    case "docker":
      return openDockerEngine({
        ...common,
        network: values.SERVICE_SANDBOX_NETWORK,
        seccompProfile: await readFile(SECCOMP, "utf8"),
      });
  }
}

/** The CLIs' user passes through the data directory to its workspaces. */
async function assertEnterable(dataDirectory: string, owner: User): Promise<void> {
  const closed = await findClosedDirectory(dataDirectory, owner);
  if (closed === undefined) return;
  throw new SettingsError([
    `uid ${owner.uid}, who the CLIs run as, cannot enter ${closed}, and SERVICE_DATA_DIR is ${dataDirectory}: name a directory that every user can come to, such as /var/lib/svc, or let others through with chmod o+x ${closed}`,
  ]);
}

/** Who the CLIs run as; undefined: the service's own user. */
function readOwner({ settings, uid }: SandboxWiring): User | undefined {
  const runAs = settings.env["TURND_RUN_AS"] ?? (uid === 0 ? "1000:1000" : "self");
  const [, user, group] = /^(\d+):(\d+)$/.exec(runAs) ?? [];
  const owner = user === undefined || group === undefined ? undefined : { uid: Number(user), gid: Number(group) };
  if (owner !== undefined && owner.uid !== uid) return owner;
  if (settings.values.SERVICE_ALLOW_SHARED_USER) return undefined;
  throw new SettingsError([
    `the CLIs would run as the service's own user, uid ${uid}, and could read its secrets: start the service as root, use other sandboxes, or set SERVICE_ALLOW_SHARED_USER=true`,
  ]);
}
