import { requestStop, type Turn } from "../store/turn.ts";

/** Stops running turns at a step boundary, so that a later one can take over their session. */
export interface Steering {
  /** Asks for the running turn's session. */
  request(running: Turn): void;
  /** Told of every step boundary of a turn. */
  atStepBoundary(turn: Turn): void;
  /** The turn has ended, whatever the reason. */
  forget(turn: Turn): void;
}

/**
 * Makes the steering.
 *
 * @param waitMs - longest wait for a step boundary, in milliseconds
 */
export function createSteering(waitMs: number): Steering {
  const asked = new Map<Turn, NodeJS.Timeout>();

  function steer(turn: Turn): void {
    clearTimeout(asked.get(turn));
    asked.delete(turn);
    requestStop(turn, "steer");
  }

  return {
    request(running) {
      if (!asked.has(running)) asked.set(running, setTimeout(steer, waitMs, running));
    },
    atStepBoundary(turn) {
      if (asked.has(turn)) steer(turn);
    },
    forget(turn) {
      clearTimeout(asked.get(turn));
      asked.delete(turn);
    },
  };
}
