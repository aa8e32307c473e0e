import type { ContainerCreateOptions } from "dockerode";
import {
  CAPABILITIES,
  OWN_VARIABLES,
  TOKEN_FILE,
  TURND_PORT,
  type InstanceName,
  type SandboxLimits,
  ownLabels,
} from "../sandbox-engine.ts";

export interface ContainerSettings {
  readonly image: string;
  readonly limits: SandboxLimits;
  /** Variables of the service that turnd and the CLIs get. */
  readonly env: Readonly<Record<string, string>>;
  /** The text of the seccomp profile in which CLI B's own sandbox works. */
  readonly seccompProfile: string;
  /** Names the service to which what is made belongs. */
  readonly instanceId: string;
}

export function containerName({ id, generation }: InstanceName): string {
  return `svc-${id}-${generation}`;
}

/** The volumes of a sandbox: what outlives its generations. */
export function volumeNames(id: string): { readonly state: string; readonly workspace: string } {
  return { state: `svc-${id}-state`, workspace: `svc-${id}-workspace` };
}

/**
 * How a sandbox's container is made: as `sandbox/deploy/compose.yaml` has it, with the service's limits.
 *
 * @param isPublished - whether turnd is reached at a port of 127.0.0.1; otherwise at the container's address
 */
export function containerOptions(
  settings: ContainerSettings,
  name: InstanceName,
  { networkId, isPublished }: { readonly networkId: string; readonly isPublished: boolean },
): ContainerCreateOptions {
  const { limits, instanceId } = settings;
  const memoryBytes = limits.memoryMb * 2 ** 20;
  const port = `${TURND_PORT}/tcp`;
  const volumes = volumeNames(name.id);
  const volume = (source: string, target: string) => ({
    Type: "volume" as const,
    Source: source,
    Target: target,
    VolumeOptions: {
      NoCopy: false,
      Labels: ownLabels(instanceId, name.id),
      DriverConfig: { Name: "local", Options: {} },
    },
  });
  return {
    name: containerName(name),
    Image: settings.image,
    Hostname: "sandbox",
    Labels: ownLabels(instanceId, name.id, name.generation),
    Env: Object.entries({ ...settings.env, ...OWN_VARIABLES }).map(([variable, value]) => `${variable}=${value}`),
    ExposedPorts: { [port]: {} },
    HostConfig: {
      NetworkMode: networkId,
      ...(isPublished ? { PortBindings: { [port]: [{ HostIp: "127.0.0.1", HostPort: "" }] } } : {}),
      // The token's has no name: it goes with its container, as the token goes with its generation.
      Mounts: [
        volume(volumes.state, "/var/lib/turnd"),
        volume(volumes.workspace, "/workspace"),
        { Type: "volume", Source: "", Target: TOKEN_FILE.slice(0, TOKEN_FILE.lastIndexOf("/")) },
      ],
      // What a tmpfs holds counts as memory.
      Tmpfs: {
        "/tmp": "exec,mode=1777,size=1g",
        "/run": "mode=755,size=64m",
        "/home/sandbox": "exec,mode=700,uid=1000,gid=1000,size=1g",
      },
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      CapAdd: [...CAPABILITIES],
      SecurityOpt: ["no-new-privileges:true", `seccomp=${settings.seccompProfile}`],
      Memory: memoryBytes,
      MemorySwap: memoryBytes,
      NanoCpus: Math.round(limits.cpus * 1e9),
      PidsLimit: limits.pids,
      Sysctls: { "kernel.shm_rmid_forced": "1" },
      LogConfig: { Type: "json-file", Config: { "max-size": "20m", "max-file": "3" } },
      // The next generation is the service's to start: a token and an address belong to one.
      RestartPolicy: { Name: "no" },
    },
  };
}
