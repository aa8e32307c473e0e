import { RecordingDocument } from "../../../../../src/turnd/protocol/index.ts";

/** A recording of so many messages of CLI B, one each `everyMs`; the last one follows after a pause. */
export function paced(messages: number, everyMs: number, pauseMs = 0): RecordingDocument {
  const start = Date.UTC(2026, 0, 1);
  const at = (ms: number): string => new Date(start + ms).toISOString();
  const texts = Array.from({ length: messages }, (_, index) => `message ${index + 1}`);
  const lines = [
    '{"type":"thread.started","thread_id":"01a1fd18-6832-74d2-84cf-52aa741eb6a7"}',
    ...texts.map(
      (text, index) =>
        `{"type":"item.completed","item":{"id":"item_${index}","type":"agent_message","text":"${text}"}}`,
    ),
    '{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":0,"output_tokens":1,"reasoning_output_tokens":0}}',
  ];
  const endMs = messages * everyMs + pauseMs;
  return RecordingDocument.parse({
    v: 1,
    turn: { executor: "cli-b", cli_version: "0.139.0" },
    exit: { code: 0, signal: null },
    input: "say so",
    stdout: lines.map((line) => `${line}\n`),
    stderr: ["first\n", "second\n"],
    timeline: [
      { type: "started", at: at(0) },
      ...lines.slice(0, -1).map((_, index) => ({ type: "line", at: at(index * everyMs), line: index + 1 })),
      { type: "ended", at: at(endMs) },
    ],
  });
}
