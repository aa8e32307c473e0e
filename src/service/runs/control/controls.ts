import type { Logger } from "pino";
import type { Storage } from "../../storage/storage.ts";
import { watchControls, type ControlWatch } from "../../storage/watch-controls.ts";
import type { RequestRow } from "../state/rows.ts";

/** The controls that reach an attempt while it runs. May be delivered again. Law: the row is the truth. */
export interface RunControl {
  onCancel(): void;
  onSteer(request: RequestRow): void;
}

/** Asks the rows, for all attempts of this process at once, whether they have a control. */
export type Controls = ControlWatch<RunControl>;

export async function createControls(storage: Storage, logger: Logger): Promise<Controls> {
  return watchControls<RunControl>(storage, logger, async (watched) => {
    const ids = [...watched.keys()];
    const cancelled = await storage.db
      .selectFrom("run")
      .select("id")
      .where("id", "in", ids)
      .where("status", "=", "cancel_requested")
      .execute();
    for (const { id } of cancelled) watched.get(id)?.onCancel();
    const steers = await storage.db
      .selectFrom("run_request")
      .selectAll()
      .where("steer_target", "in", ids)
      .where("status", "=", "queued")
      .where("handed_at", "is", null)
      .execute();
    for (const steer of steers) watched.get(steer.steer_target ?? "")?.onSteer(steer);
  });
}
