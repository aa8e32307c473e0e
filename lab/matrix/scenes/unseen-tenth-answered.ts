import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { say } from "../../../src/scripted-model/reply.ts";
import { bash, call, refusal, thenAnswer, type Scene } from "../scene.ts";
import { acts, allow, defaults, fine, model, named, SAID, says } from "./unseen-tenth-parts.ts";

const again = (why: string, toolCalls = 0) => fine(why, toolCalls, { resumed: true });
const same = call("bash", { command: "date +%j", description: "Asks for the day" });

/** Runs that come to an answer, by other ways than tools. */
export const TENTH_ANSWERED: readonly Scene[] = named([
  {
    name: "text-of-many-lines",
    script: () => say("1. a\n2. b\n\n> “c”\n"),
    label: fine("one text of many lines", 0, { finalText: "1. a\n2. b\n\n> “c”\n" }),
  },
  {
    name: "text-of-another-model",
    config: model("qwen/qwen3-coder:free", { name: "Qwen", limit: { context: 262_144, output: 65_536 } }),
    script: says,
    label: fine("a model whose id has a slash and a colon"),
  },
  {
    name: "thoughts-then-call",
    script: acts([[{ type: "reasoning", text: "I need the date." }, bash("date")]]),
    label: fine("a thought, a command, the answer", 1),
  },
  {
    name: "thoughts-anthropic",
    api: "messages",
    script: () => ({
      type: "answer",
      parts: [
        { type: "reasoning", text: "Hm, so." },
        { type: "text", text: SAID },
      ],
      ending: "stop",
    }),
    label: fine("a thought and an answer through another API"),
  },
  {
    name: "priced-call",
    config: model("priced", { cost: { input: 0.25, output: 1.25, cache_read: 0.02, cache_write: 0.3 } }),
    script: acts([[bash("echo x")]]),
    label: fine("two steps of a model with prices", 1),
  },
  {
    name: "priced-anthropic",
    api: "messages",
    config: model("priced", { cost: { input: 5, output: 25 } }),
    script: says,
    label: fine("a step of a model with prices, through another API"),
  },
  {
    name: "nothing-said",
    script: () => ({ type: "answer", parts: [], ending: "stop" }),
    label: { status: "completed", why: "the model answers with nothing" },
  },
  {
    name: "nothing-said-after-call",
    script: acts([[bash("echo silent")]], ""),
    label: { status: "completed", toolCalls: 1, why: "a command, then an answer without text" },
  },
  {
    name: "busy-twice-then-answered",
    script: thenAnswer(refusal(429, { message: "Model busy, retry later" }), 2, says),
    label: fine("two 429 of DeepInfra, then the answer"),
  },
  {
    name: "error-then-answered",
    script: thenAnswer(refusal(502, "<html><body>502 Bad Gateway</body></html>"), 1, acts([[bash("echo on")]])),
    label: fine("one 502 with a page, then a command and the answer", 1),
  },
  {
    name: "context-made-shorter",
    config: model("small", { limit: { context: 40_000, output: 2_000 } }),
    script: ({ tools, entries }) =>
      tools.length === 0
        ? say("So far: one command.")
        : entries.some((entry) => "text" in entry && entry.text.includes("So far: one command."))
          ? say(SAID)
          : {
              type: "answer",
              parts: [bash("echo long")],
              ending: "stop",
              tokens: { input: 70_000, cached: 100, output: 30, reasoning: 0 },
            },
    label: fine("usage above what the model holds: a summary, then the answer", 1),
  },
  {
    name: "command-not-offered",
    config: allow({ bash: "deny", webfetch: "deny" }),
    script: acts([[bash("rm -rf /")]]),
    label: fine("commands are denied by a rule, so there is no such tool", 1),
  },
  {
    name: "same-call-five-times",
    config: defaults,
    script: acts([[same], [same], [bash("echo other")], [same], [same]]),
    label: fine("the same call again and again, with another between", 5),
  },
  {
    name: "same-call-allowed",
    config: allow({}),
    script: acts([[same, same, same, same]]),
    label: fine("the same call four times in one step, all is allowed", 4),
  },
  {
    name: "outside-allowed",
    config: allow({ external_directory: "allow" }),
    script: acts([[call("read", { filePath: "/etc/debian_version" })], [bash("ls /usr/share/doc | head -2")]]),
    label: fine("a file and a folder outside, which is allowed", 2),
  },
  {
    name: "outside-written-allowed",
    config: allow({}),
    script: acts([[call("write", { filePath: "../sibling.txt", content: "s\n" })]]),
    label: fine("a file beside the work directory is written, which is allowed", 1),
  },
  {
    name: "outside-denied",
    config: allow({ external_directory: "deny" }),
    script: acts([[call("write", { filePath: "/var/tmp/none.txt", content: "n" })]]),
    label: fine("a rule denies files outside", 1),
  },
  {
    name: "plan-edits",
    args: ["--agent=plan"],
    config: (config) => void (config.permission = {}),
    prepare: ({ workspace }) => writeFileSync(join(workspace, "p.txt"), "p\n"),
    script: acts([
      [call("read", { filePath: "p.txt" })],
      [call("edit", { filePath: "p.txt", oldString: "p", newString: "q" })],
    ]),
    label: fine("the agent for plans reads a file and may not change it", 2),
  },
  {
    name: "agent-explore",
    args: ["--agent=explore"],
    script: says,
    label: fine("a subagent's name is given: the usual agent answers"),
  },
  {
    name: "agent-misspelt",
    args: ["--agent=biuld"],
    script: acts([[bash("echo b")]]),
    label: fine("an agent that is not there: the usual one works", 1),
  },
  { name: "log-of-warnings", logs: "WARN", script: says, label: fine("less is logged") },
  { name: "no-log", logs: "none", script: acts([[bash("echo quiet")]]), label: fine("nothing is logged", 1) },
  {
    name: "server-password",
    env: { OPENCODE_SERVER_PASSWORD: "correct horse battery" },
    script: says,
    label: fine("an inherited variable of a server, which this version bears"),
  },
  {
    name: "unknown-setting",
    config: (config) => void (config["colour_scheme"] = { dark: true }),
    script: says,
    label: fine("a setting that nobody knows, which this version passes over"),
  },
  {
    name: "resume-with-call",
    continues: "answered",
    script: acts([[bash("echo again")]]),
    label: again("a session goes on with a command", 1),
  },
  {
    name: "resume-other-model",
    continues: "answered",
    config: model("glm-4.6"),
    script: says,
    label: again("a session goes on with another model"),
  },
  {
    name: "resume-data-alone",
    continues: "answered",
    prepare: ({ home }) => {
      for (const folder of ["cache", "state"]) rmSync(join(home, folder), { recursive: true, force: true });
      mkdirSync(join(home, "cache"));
    },
    script: says,
    label: again("of all that was kept, the data alone is there"),
  },
  {
    name: "resume-killed-with-call",
    continues: "killed",
    script: acts([[call("glob", { pattern: "*" })]]),
    label: again("a session whose turn was killed goes on", 1),
  },
]);
