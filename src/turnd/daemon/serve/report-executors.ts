import type { Logger } from "pino";
import type { Executors } from "../turns/executors/executors.ts";

/**
 * Logs which CLI can run turns, as far as configuration and installation show it, and what to set for the others.
 *
 * Starts no process: what only the CLI or its provider can show is in `GET /v1/executors` and in `turnd doctor`.
 */
export async function reportExecutors(executors: Executors, logger: Logger): Promise<void> {
  const runtimes = [...executors.values()];
  const faults = await Promise.all(runtimes.map((runtime) => runtime.findStaticFault()));
  runtimes.forEach(({ executor, cliName }, index) => {
    const fault = faults[index];
    const fields = { executor: executor.id, cli: cliName };
    if (fault === undefined) logger.info(fields, "executor is configured");
    else logger.warn({ ...fields, code: fault.code, reason: fault.message }, "executor cannot run turns");
  });
  if (faults.includes(undefined)) return;
  logger.warn(
    "no executor can run turns yet: there is no provider, or no program, as the reasons above say; " +
      "with `--scripted` turns run without a provider",
  );
}
