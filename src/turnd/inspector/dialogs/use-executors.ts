import { useEffect, useState } from "preact/hooks";
import type { ExecutorInfo } from "../../protocol/executors.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import { renewals, turnd } from "../connection.ts";

/** The CLIs of this turnd; none until they are known. */
export function useExecutors(): readonly Tolerant<ExecutorInfo>[] {
  const [executors, setExecutors] = useState<readonly Tolerant<ExecutorInfo>[]>([]);
  const renewed = renewals.value;
  useEffect(() => {
    const controller = new AbortController();
    // Where they cannot be listed, the turn's own refusal says what is wrong.
    turnd.executors({ signal: controller.signal }).then(setExecutors, () => undefined);
    return () => controller.abort();
  }, [renewed]);
  return executors;
}
