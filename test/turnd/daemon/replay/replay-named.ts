import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { EXECUTORS } from "../../../../src/turnd/daemon/executors/registry.ts";
import { printReplays, type PrintOptions } from "../../../../src/turnd/commands/replay.ts";
import type { TurnEndedData } from "../../../../src/turnd/protocol/index.ts";

/** What `turnd replay --summary --json` prints, as far as tests look at it. */
export interface SummaryDocument {
  readonly recordings: readonly {
    readonly recording: string;
    readonly executor: string;
    readonly output_alone?: { readonly printed_like?: string; readonly exit_recorded: boolean };
    readonly ended: TurnEndedData;
    readonly decision?: object;
    readonly as_labelled?: boolean;
  }[];
  readonly faults: readonly string[];
  readonly score?: { readonly labelled: number; readonly status: number; readonly code: number };
  readonly drift?: readonly object[];
}

/** Runs `turnd replay` with these names in this process: what it prints, reports, and ends with. */
export async function replayNamed(
  names: readonly string[],
  options: Partial<PrintOptions> & { readonly input?: Iterable<Buffer> } = {},
): Promise<{ code: number; printed: string; stderr: string; events: object[]; document: SummaryDocument }> {
  const [out, err] = [new PassThrough(), new PassThrough()];
  const [printing, reporting] = [text(out), text(err)];
  const { input = [], ...given } = options;
  const code = await printReplays(names, {
    stdin: Readable.from(input),
    show: "events",
    executors: EXECUTORS,
    redact: (line) => line,
    out,
    err,
    ...given,
  });
  out.end();
  err.end();
  const [printed, stderr] = await Promise.all([printing, reporting]);
  return {
    code,
    printed,
    stderr,
    get events() {
      return printed
        .trimEnd()
        .split("\n")
        .map((line): object => JSON.parse(line));
    },
    get document() {
      return JSON.parse(printed) as SummaryDocument;
    },
  };
}
