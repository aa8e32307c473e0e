import type Docker from "dockerode";

/**
 * The network of the sandboxes: the operator's, or one of ours on which no sandbox reaches another.
 *
 * @returns its id
 * @throws when the operator's is not there
 */
export async function ensureNetwork(docker: Docker, given: string | undefined, instanceId: string): Promise<string> {
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
