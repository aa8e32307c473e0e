import type { Answer, Client } from "./client.ts";
import { waitFor } from "./wait-for.ts";

/** What turnd knows of an executor once it has asked all it asks: a loaded machine's CLI may not have answered at once. */
export async function lookAtExecutor(turnd: Client, executor: string): Promise<Answer["body"]> {
  return waitFor(`what turnd knows of ${executor}`, async () => {
    const { body } = await turnd.request("GET", `/v1/executors/${executor}`);
    return body.checking !== true && body;
  });
}
