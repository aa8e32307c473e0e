import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type Docker from "dockerode";
import type { ContainerInfo, ContainerInspectInfo } from "dockerode";
import {
  type EngineItem,
  GRACE_SECONDS,
  type InstanceName,
  ownLabels,
  type SandboxEngine,
  TOKEN_FILE,
  TURND_PORT,
} from "../sandbox-engine.ts";
import { containerName, containerOptions, type ContainerSettings, volumeNames } from "./container-options.ts";

export interface DockerOptions extends ContainerSettings {
  /** A network on which the service reaches sandboxes by address; absent: one of ours, and a port of 127.0.0.1. */
  readonly network: string | undefined;
}

const LINES = 20;
/** An engine that does not answer for so long is away: longer than it takes to make or to stop a container. */
const SILENCE_MS = 120_000;
const REMOVE_TRIES = 20;
const RETRY_MS = 250;

/** Sandboxes as containers of the engine that `DOCKER_HOST` names. Connects when it is first asked. */
export async function openDockerEngine(options: DockerOptions): Promise<SandboxEngine> {
  const { default: DockerClient } = await import("dockerode");
  const docker: Docker = new DockerClient({ timeout: SILENCE_MS });
  const { instanceId } = options;
  const isPublished = options.network === undefined;
  const byLabels = (labels: Readonly<Record<string, string>>) => ({
    filters: { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) },
  });
  const containersOf = (labels: Readonly<Record<string, string>>): Promise<ContainerInfo[]> =>
    docker.listContainers({ all: true, ...byLabels(labels) });

  async function inspect(name: InstanceName): Promise<ContainerInspectInfo | undefined> {
    return docker.getContainer(containerName(name)).inspect().catch(ifStatus(404));
  }

  async function find(name: InstanceName): Promise<string | undefined> {
    const found = await inspect(name);
    if (found?.State.Running !== true) return undefined;
    return addressOf(found, isPublished);
  }

  async function launch(name: InstanceName, token: string, signal: AbortSignal): Promise<string> {
    // Two generations on one volume would be two owners of one state.
    for (const { Id } of await containersOf({ "svc.instance": instanceId, "svc.sandbox": name.id })) await end(Id);
    signal.throwIfAborted();
    const networkId = await ensureNetwork(docker, options.network, instanceId);
    const container = await docker.createContainer({
      ...containerOptions(options, name, { networkId, isPublished }),
      abortSignal: signal,
    });
    const at = TOKEN_FILE.lastIndexOf("/");
    await container.putArchive(await archiveSecret(TOKEN_FILE.slice(at + 1), `${token}\n`), {
      path: TOKEN_FILE.slice(0, at),
    });
    signal.throwIfAborted();
    await container.start({ abortSignal: signal });
    const address = addressOf(await container.inspect(), isPublished);
    if (address === undefined) throw new Error("it ended at its start");
    return address;
  }

  /** Stops and removes a container. Two who do it at once both succeed. */
  async function end(nameOrId: string): Promise<void> {
    const container = docker.getContainer(nameOrId);
    await container.stop({ t: GRACE_SECONDS }).catch(ifStatus(304, 404));
    for (let tries = 1; ; tries += 1) {
      await container.remove({ force: true, v: true }).catch(ifStatus(404, 409));
      // 409: another removes it at this moment.
      if ((await container.inspect().catch(ifStatus(404))) === undefined) return;
      if (tries === REMOVE_TRIES) throw new Error(`the container ${nameOrId} cannot be removed`);
      await delay(RETRY_MS);
    }
  }

  async function list(): Promise<EngineItem[]> {
    const containers = await containersOf({ "svc.instance": instanceId });
    const { Volumes } = await docker.listVolumes(byLabels({ "svc.instance": instanceId }));
    return [
      ...containers.map(({ Labels, State }) => ({
        what: "instance" as const,
        id: Labels["svc.sandbox"] ?? "",
        generation: Number(Labels["svc.generation"]),
        isRunning: State === "running",
      })),
      ...Volumes.map((volume) => ({
        what: "volume" as const,
        id: volume.Labels["svc.sandbox"] ?? "",
        createdAt: "CreatedAt" in volume ? new Date(String(volume.CreatedAt)) : new Date(),
      })),
    ];
  }

  return {
    kind: "docker",
    spec: { image: options.image, ...options.limits, network: options.network ?? null },
    launch,
    find,
    async lastLines(name) {
      const log = await docker
        .getContainer(containerName(name))
        .logs({ stdout: true, stderr: true, tail: LINES })
        .catch(ifStatus(404));
      return log === undefined ? "" : readLog(log);
    },
    async halt({ id, generation }) {
      // By labels, as the sweep finds them: whatever it is called, it belongs to this start.
      for (const { Id } of await containersOf(ownLabels(instanceId, id, generation))) await end(Id);
    },
    async remove(id) {
      for (const { Id } of await containersOf(ownLabels(instanceId, id))) await end(Id);
      for (const volume of Object.values(volumeNames(id))) {
        await docker.getVolume(volume).remove().catch(ifStatus(404));
      }
    },
    list,
    async look() {
      try {
        const image = await docker.getImage(options.image).inspect().catch(ifStatus(404));
        if (image !== undefined) return { ok: true };
        return {
          ok: false,
          message: `the engine has no image ${options.image}: build it, or set SERVICE_SANDBOX_IMAGE`,
        };
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        return { ok: false, message: `the container engine does not answer: ${message}` };
      }
    },
  };
}

/** Where turnd of a running container is reached. */
function addressOf({ NetworkSettings }: ContainerInspectInfo, isPublished: boolean): string | undefined {
  if (isPublished) {
    const [bound] = NetworkSettings.Ports[`${TURND_PORT}/tcp`] ?? [];
    return bound === undefined ? undefined : `http://127.0.0.1:${bound.HostPort}`;
  }
  const [network] = Object.values(NetworkSettings.Networks);
  return network === undefined || network.IPAddress === "" ? undefined : `http://${network.IPAddress}:${TURND_PORT}`;
}

/** Takes a refusal of these statuses for nothing; every other fault goes on. */
function ifStatus(...statuses: readonly number[]): (error: unknown) => undefined {
  return (error) => {
    const status = error instanceof Error && "statusCode" in error ? error.statusCode : undefined;
    if (typeof status === "number" && statuses.includes(status)) return undefined;
    throw error;
  };
}

/** A tar archive of one file that belongs to root and that only root reads. */
export async function archiveSecret(name: string, content: string): Promise<Buffer> {
  const { pack } = await import("tar-stream");
  const archive = pack();
  archive.entry({ name, mode: 0o600, uid: 0, gid: 0 }, content);
  archive.finalize();
  return buffer(archive);
}

const FRAME_HEADER = 8;

/** The text of a container's log, whose frames each have eight bytes before them: stream, and length. @see Docker's API, ContainerAttach */
function readLog(log: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at + FRAME_HEADER <= log.length;) {
    const length = log.readUInt32BE(at + 4);
    parts.push(log.subarray(at + FRAME_HEADER, at + FRAME_HEADER + length));
    at += FRAME_HEADER + length;
  }
  return Buffer.concat(parts).toString("utf8").trim();
}

/**
 * The network of the sandboxes: the operator's, or one of ours on which no sandbox reaches another.
 *
 * @returns its id
 * @throws when the operator's is not there
 */
async function ensureNetwork(docker: Docker, given: string | undefined, instanceId: string): Promise<string> {
  const name = given ?? `svc-${instanceId}`;
  const find = async (): Promise<string | undefined> => {
    const networks = await docker.listNetworks({ filters: { name: [name] } });
    // The filter takes a part of a name, too; the oldest one, where two were made at once.
    const [oldest] = networks
      .filter((network) => network.Name === name)
      .toSorted((left, right) => (left.Created < right.Created ? -1 : 1));
    return oldest?.Id;
  };
  const known = await find();
  if (known !== undefined) return known;
  if (given !== undefined) throw new Error(`there is no network ${given} (SERVICE_SANDBOX_NETWORK)`);
  await docker
    .createNetwork({
      Name: name,
      Driver: "bridge",
      CheckDuplicate: true,
      Labels: { "svc.instance": instanceId },
      Options: { "com.docker.network.bridge.enable_icc": "false" },
    })
    .catch((error: unknown) => {
      // 409: another process of ours was faster.
      if (!(error instanceof Error) || !("statusCode" in error) || error.statusCode !== 409) throw error;
    });
  const made = await find();
  if (made === undefined) throw new Error(`the network ${name} was not made`);
  return made;
}
