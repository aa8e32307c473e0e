import type { Readable } from "node:stream";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import type { Recording } from "../../../../src/turnd/daemon/replay/recording.ts";
import { createSources } from "../../../../src/turnd/daemon/replay/source.ts";
import { identifyOutput } from "../../../../src/turnd/daemon/turns/replay/identify-output.ts";

/** Opens the one recording that a name stands for, as `turnd replay` does; `close` removes what was unpacked. */
export async function openSource(
  name: string,
  stdin: Readable,
): Promise<{ readonly recording: Recording; close(): Promise<void> }> {
  const sources = createSources({
    stdin,
    identify: (path, shown) =>
      identifyOutput(path, {
        name: shown,
        executors: EXECUTORS,
        advice: "name the CLI with --executor",
        maxLineBytes: 16_777_216,
      }),
    onFault: (error) => {
      throw error;
    },
  });
  const opened = await sources.open(name).next();
  if (opened.done === true) throw new Error(`${name} holds no recording`);
  return { recording: opened.value.recording, close: () => sources.close() };
}
