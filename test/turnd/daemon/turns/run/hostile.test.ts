import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fakeDaemonIn } from "../../../../harness/fake-daemon.ts";
import { expectSameAgain } from "../../../../harness/same-again.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

const message = (id: string, text: string): string =>
  `{"type":"item.completed","item":{"id":"${id}","type":"agent_message","text":"${text}"}}`;
const call = (id: string, input: string): string =>
  `{"type":"item.completed","item":{"id":"${id}","type":"mcp_tool_call","server":"x","tool":"y","arguments":${input},"status":"completed"}}`;

/** One of each kind that a CLI, a tool or a model could bring about. */
const LINES: readonly (string | Buffer)[] = [
  "Update available!",
  `\u001b]0;title\u0007\u001b[2K${message("h1", "in escapes")}\u001b[0m`,
  Buffer.concat([Buffer.from('{"type":"'), Buffer.from([0xff, 0xfe, 0x00]), Buffer.from('"}')]),
  "\u0000\u0000",
  `${message("h2", "ends with CR")}\r`,
  message("h3", "x".repeat(1_000_000)),
  `${"[".repeat(10_000)}${"]".repeat(10_000)}`,
  call("h4", `${'{"a":'.repeat(400)}1${"}".repeat(400)}`),
  '{"type":"item.completed","type":"turn.failed","item":{},"error":{"message":"twice"}}',
  call("h5", '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'),
  call("h6", '{"n":123456789012345678901234567890,"e":1e400,"m":-0}'),
  '{"type":"__proto__"}',
  "{".repeat(100),
];

test("a live turn keeps every hostile line, completes, and replays as it was logged", async () => {
  const directory = temporaryDirectory(onTestFinished);
  const turnd = await fakeDaemonIn(directory);
  const path = join(directory, "hostile");
  writeFileSync(path, Buffer.concat(LINES.flatMap((line) => [Buffer.from(line), Buffer.from("\n")])));
  // Cut anywhere, as pipes and buffers do.
  const script = `for size in 1 7 4096; do head -c $size; sleep 0.05; done <${path}; tail -c +4105 ${path}`;
  const { turn_id, session_id } = await turnd.admit({ executor: "cli-b", input: `shell ${script}\nafter all` });
  for await (const frame of turnd.follow(turn_id)) if (frame.event === "end") break;

  const result = (await turnd.request("GET", `/v1/turns/${turn_id}/result`)).body;
  expect(result).toMatchObject({ status: "completed", output: "after all", exit: { code: 0, signal: null } });
  const events = await turnd.events(turn_id);
  const lines = new Set(events.flatMap(({ native }) => (native === undefined ? [] : [native.line])));
  // Two lines of the CLI come before them, and each has an event of its own but the second, which opens the turn.
  expect(LINES.map((_, index) => index + 3).filter((line) => !lines.has(line))).toEqual([]);
  const texts = events.flatMap((event) => (event.type === "message" ? [event.data.text] : []));
  expect(texts).toEqual(["in escapes", "ends with CR", "x".repeat(1_000_000), "after all"]);
  expect({}).not.toHaveProperty("polluted");

  await expectSameAgain(turnd, turn_id);
  expect(await turnd.run({ session_id, input: "still here" })).toMatchObject({ status: "completed", resumed: true });
});
