import { createHash } from "node:crypto";
import { RecordingDocument } from "../../src/turnd/protocol/index.ts";
import { exportRecording } from "../../src/turnd/daemon/replay/export.ts";

/** A recording directory as the text of its document. */
export async function exportText(directory: string, redact = (text: string): string => text): Promise<string> {
  let text = "";
  for await (const chunk of exportRecording(directory, redact)) text += chunk;
  return text;
}

/** A recording directory as a document, checked to be one. */
export async function exportDocument(directory: string): Promise<RecordingDocument> {
  return RecordingDocument.parse(JSON.parse(await exportText(directory)));
}

/**
 * Lines of events without what two replays of one recording may differ in: times and ids. All that the digest
 * is made of stays byte for byte; of the last line, which it is not made of, the order of keys does not count.
 */
export function withoutTimeAndIds(lines: string): unknown[] {
  const plain = lines
    .trimEnd()
    .split("\n")
    .map((line) =>
      line
        .replace(/"at":"[^"]*","turn_id":"[^"]*","session_id":"[^"]*"/, '"at":"","turn_id":"","session_id":""')
        // `turnd replay` names the recording in each event.
        .replace(/^(.{0,200}"executor":"[^"]*"),"recording":"[^"]*"/, "$1"),
    );
  const end: { data: object } = JSON.parse(plain.pop() ?? "null");
  return [...plain, { ...end, data: { ...end.data, duration_ms: 0, digest: "" } }];
}

/** Whether the last line's digest is that of all before it. */
export function hasTrueDigest(lines: string): boolean {
  const all = lines.trimEnd().split("\n");
  const digest = createHash("sha256")
    .update(`${all.slice(0, -1).join("\n")}\n`)
    .digest("hex");
  const last: { data: { digest: string } } = JSON.parse(all.at(-1) ?? "null");
  return last.data.digest === (all.length === 1 ? createHash("sha256").digest("hex") : digest);
}
