import { connect } from "node:net";
import { createAnswerReader, encodeRequest, type StarterAnswer } from "./messages.ts";

export interface AskOptions {
  /** After which it is given up; its code is null then. Absent: it is waited for as long as it takes. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A connection to the starter: a process that does one task after the other. */
export interface Connection {
  /**
   * Has one task done; the one before it has been answered.
   *
   * @returns undefined where the process has ended before it answered
   * @throws the signal's reason, once it has aborted; the task is given up then, and the process ends
   */
  ask(task: readonly (string | Uint8Array)[], options: AskOptions): Promise<StarterAnswer | undefined>;
  readonly isClosed: boolean;
  /** Ends the process, unless it has become a keeper. */
  close(): void;
}

/** Connects to the socket at an address. */
export function connectTo(address: string): Connection {
  const socket = connect(address);
  // Its close says so.
  socket.on("error", () => undefined);
  return {
    get isClosed() {
      return socket.destroyed || socket.readableEnded;
    },
    ask(task, { timeoutMs, signal }) {
      return new Promise((resolve, reject) => {
        const reader = createAnswerReader();
        let timer: NodeJS.Timeout | undefined;
        const settle = (finish: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          socket.off("data", onData).off("close", onClose);
          finish();
        };
        const onData = (bytes: Buffer): void => {
          const answer = reader.push(bytes);
          if (answer !== undefined) settle(() => resolve(answer));
        };
        const onClose = (): void => settle(() => resolve(undefined));
        const onAbort = (): void => {
          settle(() => reject(toError(signal?.reason)));
          socket.destroy();
        };
        const onTimeout = (): void => {
          settle(() => resolve({ code: null, stdout: "", stderr: "" }));
          socket.destroy();
        };
        if (socket.destroyed) return resolve(undefined);
        if (timeoutMs !== undefined) timer = setTimeout(onTimeout, timeoutMs);
        signal?.addEventListener("abort", onAbort, { once: true });
        socket.on("data", onData).on("close", onClose);
        socket.write(encodeRequest(task));
      });
    },
    close: () => void socket.destroy(),
  };
}

function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
