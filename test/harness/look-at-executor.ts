import type { Answer, Client } from "./client.ts";
import { waitFor } from "./wait-for.ts";

/** The state of an executor once its checks are done, which takes a while on a loaded machine. */
export async function lookAtExecutor(turnd: Client, executor: string): Promise<Answer["body"]> {
  return waitFor(`what turnd knows of ${executor}`, async () => {
    const { body } = await turnd.request("GET", `/v1/executors/${executor}`);
    return body.checking !== true && body;
  });
}
