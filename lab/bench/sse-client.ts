import { get } from "node:http";
import { defined } from "../../src/kit/defined.ts";

/** What arrived in one piece: whole frames as text, and when. */
export interface Arrival {
  readonly at: number;
  readonly frames: readonly string[];
}

/**
 * Follows a turn's events over SSE to the end, as little above the socket as can be, so that the client costs nothing.
 *
 * @param onArrival - called with every piece, and the time of the clock before anything was done with it
 * @param options - `signal` ends it early, which is no failure
 */
export function followEvents(
  url: string,
  now: () => number,
  onArrival: (arrival: Arrival) => void,
  options: { readonly headers?: Readonly<Record<string, string>>; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const { signal } = options;
  const headers = { accept: "text/event-stream", ...options.headers };
  return new Promise((resolve, reject) => {
    const settle = (error: Error): void => (signal?.aborted === true ? resolve() : reject(error));
    const request = get(url, { headers, agent: false, ...defined({ signal }) }, (response) => {
      if (response.statusCode !== 200) {
        reject(new Error(`${url} answered ${response.statusCode}`));
        response.resume();
        return;
      }
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        const at = now();
        const frames = (rest + chunk).split("\n\n");
        rest = frames.pop() ?? "";
        onArrival({ at, frames });
      });
      response.on("end", resolve);
      response.on("error", settle);
    });
    request.on("error", settle);
  });
}
