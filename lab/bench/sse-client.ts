import { get } from "node:http";

/** What arrived in one piece: whole frames as text, and when. */
export interface Arrival {
  readonly at: number;
  readonly frames: readonly string[];
}

/**
 * Follows a turn's events over SSE to the end, as little above the socket as can be, so that the client costs nothing.
 *
 * @param onArrival - called with every piece, and the time of the clock before anything was done with it
 */
export function followEvents(
  url: string,
  now: () => number,
  onArrival: (arrival: Arrival) => void,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers: { accept: "text/event-stream", ...headers }, agent: false }, (response) => {
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
      response.on("error", reject);
    });
    request.on("error", reject);
  });
}
