import type { Writable } from "node:stream";
import type { Decision } from "../protocol/index.ts";
import { RecordingError } from "../daemon/replay/recording-error.ts";
import type { RecordingSource } from "../daemon/replay/source.ts";
import { toPrintable } from "./printable.ts";
import { createReplaySources, type ReplaySourcesOptions } from "./replay-sources.ts";
import { createReplayView, type ReplayViewKind } from "./replay-views.ts";
import { untilAborted } from "./until-aborted.ts";
import { write } from "./write.ts";

export interface PrintOptions extends Omit<ReplaySourcesOptions, "onFault"> {
  /** A recording's events, one line about it, or how its end was decided. */
  readonly show: ReplayViewKind;
  /** As one JSON document; events are lines of JSON anyway. */
  readonly isJson?: boolean;
  /** Whether an explanation lists every rule that was tried. */
  readonly hasRules?: boolean;
  readonly out: Writable;
  readonly err: Writable;
  /** Aborted to stop; what was unpacked is removed then. */
  readonly signal?: AbortSignal;
}

/**
 * Prints recordings: their unified events as JSON lines, a summary line each with the accuracy against their labels and
 * what they contain that turnd does not know, or how the end of each was decided.
 *
 * @param names - of directories, documents, output or archives, or `-` for one of these files on standard input
 * @returns 0, or 1 when one could not be replayed
 * @throws the reason of the signal, when it is aborted
 */
export async function printReplays(names: readonly string[], options: PrintOptions): Promise<0 | 1> {
  const { out, err, redact, show, isJson = false, hasRules = false, signal } = options;
  const view = createReplayView({ kind: show, isJson, hasRules, out, redact });
  let hasFault = false;
  function onFault(error: RecordingError): void {
    hasFault = true;
    view.addFault(error);
    err.write(`turnd: ${redact(toPrintable(error.message))}\n`);
  }
  const { sources, replay } = createReplaySources({ ...options, onFault });

  async function printOne(source: RecordingSource): Promise<void> {
    const notice = describeOrigin(source);
    if (notice !== undefined && show === "events") err.write(`turnd: ${redact(toPrintable(notice))}\n`);
    let decision: Decision | undefined;
    const { drift, takesEvents } = view.open(source, options.executors);
    const ended = await replay(source, {
      write: async (lines) => {
        signal?.throwIfAborted();
        if (takesEvents) await write(out, lines);
      },
      ...(drift === undefined ? {} : { drift }),
      ...(show === "decision" ? { explain: (made: Decision) => void (decision = made) } : {}),
    });
    await view.add(source, ended, decision);
  }

  async function printAll(): Promise<void> {
    for (const name of names) {
      try {
        for await (const source of sources.open(name)) {
          await printOne(source).catch((error: unknown) => {
            if (!(error instanceof RecordingError)) throw error;
            onFault(error);
          });
        }
      } catch (error) {
        if (!(error instanceof RecordingError)) throw error;
        onFault(error);
      }
    }
    await view.end();
  }

  try {
    await Promise.race([printAll(), untilAborted(signal)]);
  } finally {
    await sources.close();
  }
  return hasFault ? 1 : 0;
}

/** What is known of output without a `turn.json`; undefined for any other recording. */
export function describeOrigin({ name, origin, recording }: RecordingSource): string | undefined {
  if (origin === undefined) return undefined;
  const like = origin.printedLike === undefined ? "" : `, in the form of ${origin.printedLike}`;
  const exit = recording.isExitUnrecorded === true ? "; how it ended is not recorded (--exit)" : "";
  return `${name}: read as stdout of ${origin.executor}${like}${exit}`;
}
