import { open } from "node:fs/promises";
import { onTestFinished, vi } from "vitest";

/** A disk that fails so many times to say that it has what was written. */
export async function failingSyncs(times: number) {
  const file = await open("/dev/null", "w");
  await file.close();
  const sync = vi.spyOn(Object.getPrototypeOf(file), "sync");
  for (let count = 0; count < times; count += 1) {
    sync.mockRejectedValueOnce(Object.assign(new Error("EIO: i/o error, fsync"), { code: "EIO" }));
  }
  onTestFinished(() => sync.mockRestore());
  return sync;
}
