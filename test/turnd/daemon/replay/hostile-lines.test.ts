import { describe, expect, test } from "vitest";
import { playBytes } from "./play-bytes.ts";
import { expectSound } from "./sound-events.ts";

/** A tool call with a given input as each CLI prints it. */
const withInput: Readonly<Record<"cli-a" | "cli-b", (input: string) => string>> = {
  "cli-a": (input) =>
    `{"type":"tool_use","timestamp":1,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"tool","callID":"call_1","tool":"x_y","state":{"status":"completed","input":${input},"output":"","title":"","metadata":{}}}}`,
  "cli-b": (input) =>
    `{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"x","tool":"y","arguments":${input},"status":"completed"}}`,
};
const withText: Readonly<Record<"cli-a" | "cli-b", (text: string) => string>> = {
  "cli-a": (text) =>
    `{"type":"text","timestamp":1,"sessionID":"ses_1","part":{"id":"prt_1","messageID":"msg_1","type":"text","text":"${text}"}}`,
  "cli-b": (text) => `{"type":"item.completed","item":{"id":"item_1","type":"agent_message","text":"${text}"}}`,
};
const MAX_LINE_BYTES = 16_777_216;

describe.each(["cli-a", "cli-b"] as const)("%s", (executor) => {
  async function play(stdout: string | Buffer) {
    const played = await playBytes(executor, stdout);
    return { ...played, events: expectSound(played, stdout) };
  }
  async function unknownOf(stdout: string | Buffer) {
    const { events } = await play(stdout);
    return events.flatMap((event) => (event.type === "record.unknown" ? [event.data] : []));
  }
  async function textOf(stdout: string | Buffer) {
    const { events } = await play(stdout);
    return events.flatMap((event) => (event.type === "message" ? [event.data.text] : []));
  }
  async function inputOf(input: string) {
    const { lines } = await play(`${withInput[executor](input)}\n`);
    const started = lines.find((line) => line.includes('"type":"tool.started"')) ?? "";
    return /"input":(.*)\}\}$/.exec(started)?.[1];
  }

  test("terminal escapes around and inside a record do not cost it", async () => {
    const record = withText[executor]("hello");
    const wrapped = `\u001b]0;title\u0007\u001b[2K${record.replace('"hello"', '"\u001b[1mhello\u001b[0m"')}\u001b[0m`;
    expect(await textOf(`${wrapped}\n`)).toEqual(["hello"]);
  });

  test("escapes alone are a blank line", async () => {
    const { ended } = await play("\u001b[?25h\u001b[0m\n \t\r\n");
    expect(ended.counts).toMatchObject({ records: 0, unknown: 0 });
  });

  test.each([
    ["a notice", "Update available! Run upgrade."],
    ["a notice before a record", `note: ${withText[executor]("hello")}`],
    ["half an escape", "\u001b]0;title {}"],
    ["NUL", "\u0000"],
    ["a record with NUL in it", withText[executor]("a\u0000b")],
    ["a record cut off", withText[executor]("hello").slice(0, 50)],
    ["two records without a newline", withText[executor]("a") + withText[executor]("b")],
    ["not a number", '{"type":NaN}'],
  ])("%s is kept as it was printed", async (_, line) => {
    expect(await unknownOf(`${line}\n`)).toEqual([{ reason: "not_json", line }]);
  });

  test.each([
    ["null", "bad_shape"],
    ["0", "bad_shape"],
    ['"text"', "bad_shape"],
    ["[]", "bad_shape"],
    ["{}", "bad_shape"],
    ['{"type":["text"]}', "bad_shape"],
    ['{"type":"constructor"}', "unknown_type"],
    ['{"type":"__proto__","sessionID":"ses_1"}', "unknown_type"],
  ])("%s is no record: %s", async (line, reason) => {
    expect(await unknownOf(`${line}\n`)).toEqual([{ reason, line }]);
  });

  test("invalid UTF-8 stays in its line, and a record with it is still read", async () => {
    const record = withText[executor]("a?b");
    const bytes = Buffer.from(`${record}\n?\n${withText[executor]("c").replaceAll("_1", "_2")}\n`);
    for (let at = bytes.indexOf("?"); at !== -1; at = bytes.indexOf("?")) bytes[at] = 0xff;
    expect(await textOf(bytes)).toEqual(["a\u{fffd}b", "c"]);
    expect(await unknownOf(bytes)).toEqual([{ reason: "not_json", line: "\u{fffd}" }]);
  });

  test("lines that end with CR LF, or not at all, are read", async () => {
    expect(await textOf(`${withText[executor]("a")}\r\n${withText[executor]("b").replaceAll("_1", "_2")}`)).toEqual([
      "a",
      "b",
    ]);
  });

  test("half a surrogate pair passes through", async () => {
    expect(await textOf(`${withText[executor]("\\ud83d \\udc4d")}\n`)).toEqual(["\ud83d \udc4d"]);
  });

  test("keys that mean something to JavaScript are data, and change nothing else", async () => {
    const input = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1}';
    expect(await inputOf(input)).toBe(input);
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect("polluted" in {}).toBe(false);
  });

  test("of a key that comes twice the last counts, as for every JavaScript reader", async () => {
    expect(await inputOf('{"a":1,"a":2}')).toBe('{"a":2}');
  });

  test("a number beyond 2^53 is the nearest that JSON readers have; its digits stay in stdout.jsonl", async () => {
    expect(await inputOf('{"id":9007199254740993,"small":-0.1}')).toBe('{"id":9007199254740992,"small":-0.1}');
  });

  test("a record nested deeper than can be handed on is kept as its line", async () => {
    for (const depth of [10_000, 100_000]) {
      const line = withInput[executor]('{"a":['.repeat(depth) + "]}".repeat(depth));
      expect(await unknownOf(`${line}\n`)).toEqual([{ reason: "bad_shape", line }]);
    }
    expect(await inputOf(`${"[".repeat(400)}${"]".repeat(400)}`)).toBe(`${"[".repeat(400)}${"]".repeat(400)}`);
  });

  test(
    "a line up to the limit is read, a longer one keeps its head, and the next is whole",
    { timeout: 60_000 },
    async () => {
      const frame = Buffer.byteLength(withText[executor](""));
      const texts = [MAX_LINE_BYTES - 1, MAX_LINE_BYTES].map((bytes) => "x".repeat(bytes - frame));
      const [under = "", at = ""] = texts;
      expect((await textOf(`${withText[executor](under)}\n`))[0]).toHaveLength(under.length);
      expect((await textOf(`${withText[executor](at)}\n`))[0]).toHaveLength(at.length);
      const played = await playBytes(executor, `${withText[executor](`${at}x`)}\n${withText[executor]("next")}\n`);
      const [, unknown, ...rest] = played.lines;
      expect(JSON.parse(unknown ?? "").data).toEqual({
        reason: "not_json",
        line: withText[executor](at).slice(0, 65_536),
      });
      expect(rest.join("\n")).toContain('"text":"next"');
    },
  );
});

test.each([
  [
    "tokens",
    '{"reason":"stop","cost":0,"tokens":{"input":1e300,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}}',
  ],
  ["a cost", '{"reason":"stop","cost":1e308}'],
])("cli-a: %s that nothing can count are absent, not wrong", async (_, part) => {
  const finish = (id: string): string =>
    JSON.stringify({ type: "step_finish", sessionID: "ses_1", part: { id, messageID: "m", ...JSON.parse(part) } });
  const stdout = `${finish("prt_1")}\n${finish("prt_2")}\n`;
  const played = await playBytes("cli-a", stdout);
  expectSound(played, stdout);
  expect([played.ended.usage, played.ended.cost_usd]).toEqual([undefined, undefined]);
});

test("cli-b: tokens beyond 2^53 leave the usage unknown and the turn completed", async () => {
  const stdout = '{"type":"turn.completed","usage":{"input_tokens":9007199254740993,"output_tokens":1}}\n';
  const played = await playBytes("cli-b", stdout);
  expectSound(played, stdout);
  expect([played.ended.status, played.ended.usage]).toEqual(["completed", undefined]);
});
