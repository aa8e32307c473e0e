import { say } from "../../../src/scripted-model/reply.ts";
import {
  bash,
  call,
  childOf,
  completed,
  failed,
  marker,
  refusal,
  steps,
  thenAnswer,
  type Scene,
  type SceneConfig,
} from "../scene.ts";
import { afterTool } from "./unseen-ninth-parts.ts";

const task = (scene: string, kind = "general") =>
  call("task", { description: "look into it", prompt: marker(childOf(scene)), subagent_type: kind });
/** A second run in the same place, while the first waits for its command. */
const another = (more = ""): ReturnType<typeof bash> =>
  bash(`echo "@@before@@ task" | "$LAB_CLI" run --format=json ${more} >second.jsonl; tail -c 200 second.jsonl`);
const SECOND = { LAB_CLI: "{binary}" };
const window = ({ provider }: SceneConfig): void =>
  void (provider.lab.models.m["limit"] = { context: 40_000, output: 3_000 });

/** The rest of the answered runs: subagents, agents, sessions, permissions, what a provider does and takes back. */
export const NINTH_ANSWERED: readonly Scene[] = [
  {
    name: "ninth-subagent",
    script: steps([[task("ninth-subagent", "explore")]], "It has looked."),
    child: steps([[bash("ls -a")], [call("read", { filePath: "nothing.txt" })]], "Nothing there."),
    label: completed("a subagent, whose tool fails, then the answer", "It has looked.", 1),
  },
  {
    name: "ninth-subagent-fails",
    script: steps([[task("ninth-subagent-fails")]], "Without it, then."),
    child: refusal(403, {
      message: "Project `proj_9dK2` does not have access to model `gpt-5.4`",
      type: "invalid_request_error",
      param: null,
      code: "model_not_found",
    }),
    label: completed("a subagent fails inside", "Without it, then.", 1),
  },
  {
    name: "ninth-subagent-unknown",
    script: steps([[task("ninth-subagent-unknown", "architect")]], "There is no architect."),
    label: completed("a type of subagent that is not there", "There is no architect.", 1),
  },
  {
    name: "ninth-subagent-denied",
    config: (config) => void (config.permission = { "*": "allow", external_directory: "deny" }),
    script: steps([[task("ninth-subagent-denied")]], "Denied there."),
    child: steps([[call("read", { filePath: "/etc/hostname" })]], "I may not."),
    label: completed("a subagent meets a deny rule", "Denied there.", 1),
  },
  {
    name: "ninth-subagent-asks",
    config: (config) => void (config.permission = { "*": "allow", webfetch: "ask" }),
    script: steps([[task("ninth-subagent-asks")]], "It did without the page."),
    child: steps([[call("webfetch", { url: "http://127.0.0.1:9/page", format: "text" })]], "No page."),
    label: completed(
      "a permission asked inside a subagent is rejected and the run goes on; 1.3.2 hung here",
      "It did without the page.",
      1,
    ),
  },
  {
    name: "ninth-denied-command",
    config: (config) => void (config.permission = { "*": "allow", bash: "deny" }),
    script: steps([[bash("rm -rf build")]], "I leave it."),
    label: completed("the shell is denied by rule, the call becomes one of an unknown tool", "I leave it.", 1),
  },
  {
    name: "ninth-question-not-offered",
    script: steps([[call("question", { questions: [{ question: "Which one?", header: "Which", options: [] }] })]]),
    label: completed("the question tool is not offered", "Done.", 1),
  },
  {
    name: "ninth-plan-agent-edits",
    args: ["--agent=plan"],
    config: (config) => void (config.permission = {}),
    script: steps([
      [call("edit", { filePath: "a.ts", oldString: "a", newString: "b" })],
      [call("write", { filePath: "b.ts", content: "b" })],
    ]),
    label: completed("the plan agent tries to edit and to write, the run goes on", "Done.", 2),
  },
  { name: "ninth-agent-unknown", args: ["--agent=reviewer"], label: completed("an unknown agent, the CLI falls back") },
  {
    name: "ninth-agent-is-subagent",
    args: ["--agent=explore"],
    script: steps([[bash("echo as the default one")]]),
    label: completed("a subagent named as the agent, the CLI falls back", "Done.", 1),
  },
  {
    name: "ninth-arguments-fail-validation",
    script: steps([[call("edit", { filePath: 7, oldString: ["a"] })], [call("grep", {})]]),
    label: completed("arguments that fail validation", "Done.", 2),
  },
  {
    name: "ninth-arguments-no-json",
    script: steps([
      [{ type: "tool_call", name: "bash", input: {}, written: '{"command": "ls, "description": "cut' }],
      [bash("echo better")],
    ]),
    label: completed("arguments that are not JSON, the call becomes one of an invalid tool", "Done.", 2),
  },
  {
    name: "ninth-tool-unknown",
    script: steps([[call("str_replace_editor", { command: "view", path: "/repo" })]], "Not that one."),
    label: completed("a tool of another product", "Not that one.", 1),
  },
  {
    name: "ninth-tool-unknown-then-right",
    api: "messages",
    script: steps([[call("Bash", { command: "ls" }), call("functions.exec", {})], [bash("ls")]]),
    label: completed("tools by wrong names, then the right one", "Done.", 3),
  },
  {
    name: "ninth-nothing-said",
    script: () => ({
      type: "answer",
      parts: [],
      ending: "stop",
      tokens: { input: 31, cached: 0, output: 2, reasoning: 0 },
    }),
    label: { status: "completed", why: "the model answers with no text" },
  },
  {
    name: "ninth-nothing-after-tool",
    script: steps([[bash("echo all of it")]], ""),
    label: { status: "completed", toolCalls: 1, why: "a tool, then an answer with no text" },
  },
  {
    name: "ninth-price-with-cache",
    config: ({ provider }) =>
      void (provider.lab.models.m["cost"] = { input: 1.25, output: 10, cache_read: 0.125, cache_write: 1.5 }),
    script: () => ({
      type: "answer",
      parts: [{ type: "text", text: "Paid." }],
      ending: "stop",
      tokens: { input: 4_000, cached: 3_000, output: 90, reasoning: 40 },
    }),
    label: completed("a model with a price, tokens from the cache", "Paid."),
  },
  {
    name: "ninth-price-two-steps",
    config: ({ provider }) => void (provider.lab.models.m["cost"] = { input: 0.5, output: 2 }),
    script: steps([[bash("echo cheap")]]),
    label: completed("a model with a price, two steps", "Done.", 1),
  },
  {
    name: "ninth-compaction-by-usage",
    config: window,
    script: ({ tools, entries }) =>
      tools.length === 0
        ? say("Goal: the task. So far: one file was read.")
        : entries.some((entry) => "text" in entry && entry.text.includes("one file was read"))
          ? say("Now it is done.")
          : {
              type: "answer",
              parts: [call("read", { filePath: "big.txt" })],
              ending: "stop",
              tokens: { input: 70_000, cached: 0, output: 12, reasoning: 0 },
            },
    label: completed("compaction during the turn", "Now it is done.", 1),
  },
  {
    name: "ninth-overflow-then-summary",
    config: window,
    continues: "answered",
    script: ({ tools, entries }) =>
      tools.length === 0
        ? say("A short summary of before.")
        : entries.some((entry) => "text" in entry && entry.text.includes("short summary of before"))
          ? say("After the summary.")
          : {
              type: "refusal",
              status: 400,
              code: "",
              message: "",
              body: '{"object":"error","message":"This model\'s maximum context length is 40000 tokens. However, you requested 46210 tokens (43210 in the messages, 3000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}',
            },
    label: {
      ...completed(
        "vLLM's overflow, a summary, the answer: exit 1 after an error that was recovered",
        "After the summary.",
      ),
      resumed: true,
    },
  },
  {
    name: "ninth-two-refused-then-answered",
    script: thenAnswer(
      refusal(
        429,
        {
          message:
            "Rate limit reached for model `openai/gpt-oss-120b` in organization `org_01k` service tier `on_demand` on tokens per minute (TPM): Limit 8000, Used 7702, Requested 2261. Please try again in 1.2s.",
          type: "tokens",
          code: "rate_limit_exceeded",
        },
        { "retry-after": "1" },
      ),
      2,
      () => say("Now it went."),
    ),
    label: completed("two 429s of Groq, then success", "Now it went."),
  },
  {
    name: "ninth-overloaded-after-tool",
    api: "messages",
    script: afterTool(
      thenAnswer(
        refusal(
          529,
          '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CUq"}',
        ),
        1,
        () => say("The second try went."),
      ),
      "echo first",
    ),
    label: completed(
      "a 529 after a tool, then success: a retry of which there is a line on stderr at most",
      "The second try went.",
      1,
    ),
  },
  {
    name: "ninth-resume",
    continues: "answered",
    script: steps([[bash("echo again")]]),
    label: { ...completed("resume by id", "Done.", 1), resumed: true },
  },
  {
    name: "ninth-resume-killed",
    continues: "killed",
    script: () => say("Where were we?"),
    label: { ...completed("resume of a session whose turn was killed", "Where were we?"), resumed: true },
  },
  {
    name: "ninth-second-new-run",
    env: SECOND,
    script: steps([[another()]], "Both are done."),
    label: completed("two new runs at the same time in one place", "Both are done.", 1),
  },
  {
    name: "ninth-second-new-run-background",
    env: SECOND,
    script: steps([[bash('(echo "@@before@@ task" | "$LAB_CLI" run --format=json >second.jsonl 2>&1 &) ; sleep 3')]]),
    label: completed("two new runs, the other in the background", "Done.", 1),
  },
  {
    name: "ninth-same-session-stops-early",
    continues: "answered",
    env: SECOND,
    script: steps([[another("--continue")]], "This is not said."),
    label: failed("output_incomplete", "another run on the same session answers first: this one stops after its tool", {
      toolCalls: 1,
      resumed: true,
    }),
  },
  {
    name: "ninth-log-of-errors",
    logs: "ERROR",
    script: steps([[bash("ls nowhere")]]),
    label: completed("ERROR log on stderr", "Done.", 1),
  },
  {
    name: "ninth-no-log",
    logs: "none",
    script: steps([[bash("echo quiet")]]),
    label: completed("no log at all", "Done.", 1),
  },
  {
    name: "ninth-prompt-latin",
    prompt: Buffer.from("Gr\u00FC\u00DFe, bitte z\u00E4hlen", "latin1"),
    label: completed("a prompt in Latin-1, which is not UTF-8"),
  },
];
