import type { Incoming, Transport } from "../../turnd/client/transport.ts";
import type { TurndClient } from "../../turnd/client/turnd-client.ts";
import { connectTurnd, sendOverHttp } from "./connect-turnd.ts";

/** Where a generation of a sandbox answers. */
export interface Place {
  readonly baseUrl: string;
  readonly token: string;
}

/** What the client's own address is taken for; never asked. */
const NOWHERE = "http://sandbox.invalid";
const UNAUTHORIZED = 401;

/**
 * A client of a sandbox that goes on with its next generation when this one is gone.
 *
 * A connection that cannot be made, or an instance that refuses our token, is looked into before the caller gets the fault; so
 * the caller's own next try reaches the generation that took over, with the turns of the same volume.
 * @param locate - where the sandbox is now; starts it where it is stopped
 */
export function createFollowingClient(first: Place, locate: (signal: AbortSignal) => Promise<Place>): TurndClient {
  let place = first;
  let locating: Promise<boolean> | undefined;

  /** @returns whether it is elsewhere now */
  async function relocate(signal: AbortSignal): Promise<boolean> {
    const before = place;
    place = await locate(signal);
    return place.baseUrl !== before.baseUrl || place.token !== before.token;
  }

  const follow: Transport = async (url, outgoing) => {
    const path = url.slice(NOWHERE.length);
    const { signal } = outgoing;
    const ask = (): Promise<Incoming> =>
      sendOverHttp(`${place.baseUrl}${path}`, {
        ...outgoing,
        headers: { ...outgoing.headers, authorization: `Bearer ${place.token}` },
      });
    const look = () => (locating ??= relocate(signal).finally(() => (locating = undefined)));
    let answer: Incoming;
    try {
      answer = await ask();
    } catch (error) {
      signal.throwIfAborted();
      // Whatever comes of it, this call got no answer; its caller asks again where that is right.
      await look().catch(() => false);
      throw error;
    }
    // Another sandbox may have got the port of one that is gone.
    if (answer.status !== UNAUTHORIZED || !(await look())) return answer;
    // Read to its end, so that its connection is free.
    await answer.text();
    return ask();
  };
  return connectTurnd({ baseUrl: NOWHERE, token: undefined, transport: follow });
}
