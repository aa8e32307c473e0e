/** Rejects when a signal is aborted; never resolves. For a race with something that may wait without end. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(new Error("stopped", { cause: signal?.reason }));
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}
