import { useEffect, useState } from "preact/hooks";
import type { RawRecord as RawRecordLine } from "../../protocol/raw-records.ts";
import type { ShownEvent } from "../events/shown-event.ts";
import { turnHref } from "../route.ts";
import { formatBytes } from "../text/format.ts";
import { pretty, toJsonText } from "../text/json-text.ts";
import { Code } from "../text/text.tsx";
import { readRecord } from "./records.ts";

/** What the CLI printed, and what turnd made of it. */
export function SideBySide({ turnId, event }: { readonly turnId: string; readonly event: ShownEvent }) {
  const source = event.native?.source ?? "stdout";
  const line = event.native?.line;
  return (
    <div class="sides">
      <section aria-label="Raw record">
        <h3>
          {line === undefined ? (
            "Made by turnd"
          ) : (
            <>
              Raw record,{" "}
              <a href={turnHref(turnId, "raw", line)}>
                {source} line {line}
              </a>
            </>
          )}
        </h3>
        {line === undefined ? (
          <p class="muted">No line of the CLI's output stands behind this event.</p>
        ) : (
          <RawRecord turnId={turnId} source={source} line={line} />
        )}
      </section>
      <section aria-label="Unified event">
        <h3>Unified event {event.seq}</h3>
        <Code text={toJsonText(event.whole)} />
      </section>
    </div>
  );
}

interface RawRecordProps {
  readonly turnId: string;
  readonly source: "stdout" | "stderr";
  readonly line: number;
}

function RawRecord({ turnId, source, line }: RawRecordProps) {
  const [text, setText] = useState<string>("…");
  useEffect(() => {
    const controller = new AbortController();
    readRecord(turnId, { source, line }, controller.signal).then(
      (record) => setText(describeRecord(record)),
      (error: unknown) => setText(error instanceof Error ? error.message : String(error)),
    );
    return () => controller.abort();
  }, [turnId, source, line]);
  return <Code text={text} />;
}

function describeRecord(record: RawRecordLine | undefined): string {
  if (record === undefined) return "This line is not there any more.";
  const cut = record.bytes === undefined ? "" : `\n… ${formatBytes(record.bytes)} in all`;
  return pretty(record.text) + cut;
}
