import { wholeFile } from "../cli-b.ts";
import { does, DONE, refuse, run, say, text, thought, type Answer } from "../reply.ts";
import { only, works, type Scene } from "../scene.ts";
import { early, RESUMED, WORDS_OF_ERRORS } from "./parts.ts";

const LONG = "All is well. ".repeat(40_000);
const LIKE_RECORDS =
  '{"type":"error","error":{"name":"ContextOverflowError"}}\n{"type":"turn.failed","error":{"message":"x"}}\n{"type":"step_finish"}';
const ODD = "\u001B[31mred\u001B[0m \u2028 “ü” 漢字 \u{1F600}\tend";
const SCHEMA = (name: string, type: string): string =>
  `{"type":"object","properties":{"${name}":{"type":"${type}"}},"required":["${name}"],"additionalProperties":false}`;
const withTokens = (tokens: Answer["tokens"], answer: Answer): Answer => (tokens ? { ...answer, tokens } : answer);
const withUsage = (usage: NonNullable<Answer["usage"]> | null, answer: Answer): Answer => ({ ...answer, usage });
const WINDOW = { provider: { lab: { models: { m: { limit: { context: 50_000, output: 4_000 } } } } } };
const price = (cost: object) => ({ provider: { lab: { models: { m: { cost } } } } });
const OVERFLOW = refuse(
  400,
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  "context_length_exceeded",
);
const SUMMARY = say("A summary of it all.");

/** Turns that come to an answer, with what it may consist of. */
export const ANSWERS: readonly Scene[] = [
  works("text-answer", "one message, then the end", DONE),
  works("text-answer-odd-characters", "what a line of JSON has to escape", say(ODD), {
    cliB: {
      name: "text-with-odd-characters",
      replies: [say("a\u2028b \u0000 \u{1f600} \u001b[31mred")],
    },
  }),
  works("text-of-many-lines", "Markdown with a block of code", say("Here:\n\n```sh\nset -e\n```\n\n- one\n- “two”\n")),
  works("long-answer", "half a megabyte", say(LONG)),
  works("answer-of-errors", "the answer speaks of errors", say(WORDS_OF_ERRORS)),
  works("answer-like-records", "the answer looks like records of the CLI", say(LIKE_RECORDS)),
  works("nothing-said", "the model answers with nothing at all", does(), { cliB: { name: "no-message" } }),
  works("nothing-said-after-tool", "a command, then an answer without text", [does(run("echo all of it")), does()]),
  works("prompt-odd", "NUL, an emoji, a change of direction, quotes", DONE, {
    prompt: "hello \u0000 \u202e RTL 🙂 \u2028 \"'\\ $(id) `id`\n",
  }),
  ...only(
    "cli-a",
    works("reasoning", "thoughts, then an answer", does(thought("First I think."), text("Then I speak."))),
    works("anthropic-reasoning", "the same by another API", does(thought("First I think."), text("Then I speak.")), {
      api: "messages",
    }),
    works("empty-text", "the model says an empty text", say("")),
    works("prompt-long", "a prompt of 300 kB", DONE, { prompt: "word ".repeat(60_000) }),
    works("prompt-not-text", "bytes that are not UTF-8 reach the model as U+FFFD, and it answers", DONE, {
      prompt: Buffer.from([0x68, 0xff, 0xfe, 0x80, 0x00, 0x6f]),
    }),
    works("priced-model", "one answer of a model with a price", DONE, {
      config: price({ input: 3, output: 15, cache_read: 0.3 }),
    }),
    works(
      "priced-cache",
      "tokens from the cache, of a model with a price",
      withTokens({ input: 4_000, cached: 3_000, output: 90, reasoning: 40 }, say("Paid.")),
      { config: price({ input: 1.25, output: 10, cache_read: 0.125, cache_write: 1.5 }) },
    ),
    works("priced-steps", "two steps of a model with a price, by another API", [does(run("echo x")), DONE], {
      api: "messages",
      config: price({ input: 0.5, output: 2 }),
    }),
    works("model-with-slashes", "a model whose id has a slash and a colon", DONE, {
      config: {
        model: "lab/qwen/qwen3-coder:free",
        small_model: "lab/qwen/qwen3-coder:free",
        provider: { lab: { models: { "qwen/qwen3-coder:free": { limit: { context: 262_144, output: 65_536 } } } } },
      },
    }),
    works(
      "compaction",
      "usage beyond the model's context: a summary, then the answer",
      [withTokens({ input: 90_000, cached: 0, output: 20, reasoning: 0 }, does(run("echo much"))), SUMMARY, DONE],
      { config: WINDOW },
    ),
    works(
      "context-overflow-recovered",
      "the prompt is too long, a summary helps, the answer comes",
      [OVERFLOW, SUMMARY, DONE],
      { ...RESUMED([say("Before.")]), config: WINDOW, resumed: true },
    ),
    works("log-of-warnings", "less is logged", [does(run("ls nowhere")), DONE], { logs: "WARN" }),
    works("log-of-errors", "only errors are logged", [does(run("ls nowhere")), DONE], { logs: "ERROR" }),
    works("no-log", "nothing is logged", [does(run("echo quiet")), DONE], { logs: "none" }),
    works("server-password", "an inherited variable of a server, which broke the start of 1.3.2", DONE, {
      env: { OPENCODE_SERVER_PASSWORD: "hunter2" },
    }),
    works("unknown-setting", "a setting that this version does not know", DONE, { config: { colour_scheme: {} } }),
  ),
  ...only(
    "cli-b",
    works("several-messages-and-reasoning", "a thought, a remark, a command, the answer", [
      does(thought("I think first."), text("I look around."), run("echo here")),
      DONE,
    ]),
    works(
      "two-messages",
      "a thought and two messages in one answer",
      does(thought("Hm?"), text("A moment."), text("Done.")),
    ),
    works("thought-only", "a thought and no message", does(thought("I think and say nothing."))),
    works("prompt-with-mark", "a prompt that begins with a byte order mark", DONE, {
      prompt: Buffer.from("\ufeffhello\n"),
    }),
    works("no-usage", "the provider sends no usage", withUsage(null, DONE)),
    works("no-usage-after-tool", "no usage, after a command", [
      withUsage(null, does(run("echo free"))),
      withUsage(null, DONE),
    ]),
    works(
      "usage-zero",
      "a local server counts nothing",
      withUsage({ input_tokens: 0, output_tokens: 0, total_tokens: 0 }, DONE),
    ),
    works(
      "usage-with-cache-writes",
      "the provider counts what it wrote to its cache",
      withUsage(
        {
          input_tokens: 100,
          input_tokens_details: { cached_tokens: 40, cache_write_tokens: 30 },
          output_tokens: 20,
          output_tokens_details: { reasoning_tokens: 5 },
          total_tokens: 120,
        },
        DONE,
      ),
    ),
    works("known-model", "a model that the CLI knows: no remark on its metadata", DONE, {
      variables: { CLI_B_MODEL: "gpt-5.5" },
    }),
    works(
      "auto-compaction",
      "the conversation is compacted between two answers",
      [does(run("echo one")), say("Summary so far."), does(run("echo two")), say("Summary again."), DONE],
      { toml: wholeFile("model_auto_compact_token_limit = 50\nmodel_context_window = 100000") },
    ),
    works("output-schema", "an answer by a schema", say('{"a":1}'), { outputSchema: SCHEMA("a", "number") }),
    works("output-schema-not-kept", "an answer that is not as the schema asks", say("no JSON"), {
      outputSchema: SCHEMA("a", "number"),
    }),
    works("output-schema-and-file", "an answer by a schema, also into a file", say('{"verdict":"ok"}'), {
      outputSchema: SCHEMA("verdict", "string"),
      args: (args, place) => early("-o", `${place.workspace}/last.json`)(args, place),
    }),
    works("unknown-configuration-key", "a key that this version does not know is passed over", DONE, {
      toml: wholeFile('no_such_key = "x"'),
    }),
    works("bad-effort", "an effort that no model has is passed on", DONE, {
      args: early("-c", 'model_reasoning_effort="vast"'),
    }),
    works("approval-policy-twice", "the last of two values of a key holds, and turnd's comes later", DONE, {
      args: early("-c", 'approval_policy="sometimes"'),
    }),
    works("approval-on-request", "a policy of approvals by which exec asks nobody", [does(run("uname -s")), DONE], {
      args: (args) => args.map((word) => (word === 'approval_policy="never"' ? 'approval_policy="on-request"' : word)),
    }),
    works("image-missing", "an image that is not there is replaced by words", DONE, {
      args: (args) => [...args.slice(0, -1), "--image=/nonexistent.png", "-"],
    }),
    works("built-in-provider", "at another address: its sockets fail, its requests do not", DONE, {
      toml: 'model = "gpt-5.5"\nopenai_base_url = "{url}"\nsandbox_mode = "danger-full-access"\n',
      env: { CODEX_API_KEY: "FAKE-LAB-KEY-A" },
    }),
  ),
];
