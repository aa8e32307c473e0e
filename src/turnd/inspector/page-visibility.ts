import { signal } from "@preact/signals";

/** Whether a reader can see this page: not while its tab is behind another, or its window minimised. */
export const isPageSeen = signal(!document.hidden);
document.addEventListener("visibilitychange", () => {
  isPageSeen.value = !document.hidden;
});

/** Resolves as soon as the page is seen. @throws the signal's reason */
export async function untilSeen(given: AbortSignal): Promise<void> {
  given.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const stop = isPageSeen.subscribe((isSeen) => {
    if (isSeen) resolve();
  });
  given.addEventListener("abort", () => reject(given.reason), { once: true });
  await promise.finally(stop);
}

/** A signal that is aborted as soon as the page is not seen; `stop` ends the watching. */
export function whileSeen(): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const stop = isPageSeen.subscribe((isSeen) => {
    if (!isSeen) controller.abort();
  });
  return { signal: controller.signal, stop };
}
