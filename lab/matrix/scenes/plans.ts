import { wholeFile } from "../cli-b.ts";
import { call, does, DONE, HANG, refuse, run, say, type Piece } from "../reply.ts";
import { cancelled, CHILD, fails, only, works, type Scene } from "../scene.ts";
import { instead, more, onceAsked } from "./parts.ts";

const STEPS = ["Read the task", "Write the code", "Run the tests"];
const plan = (...states: readonly string[]): Piece =>
  call("todowrite", {
    todos: states.map((status, index) => ({ content: STEPS[index], status, priority: "medium" })),
  });
const task = (kind = "general"): Piece =>
  call("task", { description: "a part of it", prompt: CHILD, subagent_type: kind });
const step = (status: string) => ({ plan: [{ step: "Look", status }] });
const REVIEW = (words: string) =>
  say(
    JSON.stringify({
      findings: [],
      overall_correctness: "patch is correct",
      overall_explanation: words,
      overall_confidence_score: 0.9,
    }),
  );
const REPOSITORY = "cd $workspace && git init -q . && echo one >a.txt";
const COMMIT = `${REPOSITORY} && git add . && git -c user.name=t -c user.email=t@t.invalid commit -qm one && echo two >>a.txt`;
const INTERRUPTED = "Review was interrupted. Please re-run /review and wait for it to complete.";

/** Plans, agents and subagents, reviews. */
export const PLANS: readonly Scene[] = [
  ...only(
    "cli-a",
    works("todo-list", "a plan, then all of it done", [
      does(plan("in_progress", "pending")),
      does(plan("completed", "completed")),
      DONE,
    ]),
    works("todo-list-with-work", "a plan around a command, a step given up", [
      does(plan("in_progress", "pending", "pending"), run("echo work >out.txt")),
      does(plan("completed", "cancelled", "completed"), call("read", { filePath: "out.txt" })),
      DONE,
    ]),
    works(
      "plan-agent-denies-edits",
      "the plan agent's edits are refused and the run goes on",
      [
        does(call("write", { filePath: "new.txt", content: "x" })),
        does(call("edit", { filePath: "a.ts", oldString: "a", newString: "b" })),
        DONE,
      ],
      { args: more("--agent=plan"), config: { permission: { "*": null } } },
    ),
    works("plan-agent-runs-commands", "a plan, with a command", [does(run("ls")), DONE], {
      args: more("--agent=plan"),
    }),
    works("unknown-agent", "an agent that is not there: the default one answers", DONE, {
      args: more("--agent=nobody"),
    }),
    works("agent-is-subagent", "a subagent named as the agent: the default one works", [does(run("echo d")), DONE], {
      args: more("--agent=explore"),
    }),
    works("subagent", "a subagent works and one of its tools fails, then the answer", [does(task()), DONE], {
      child: [does(run("echo child"), call("read", { filePath: "nothing.txt" })), say("The child is done.")],
    }),
    works(
      "subagent-explores",
      "a subagent of another kind, beside a command",
      [does(task("explore"), run("ls")), DONE],
      {
        child: [does(call("glob", { pattern: "*" })), say("There is nothing.")],
      },
    ),
    works("subagent-fails", "a subagent's key is refused, and the model goes on without it", [does(task()), DONE], {
      child: [refuse(401, "Incorrect API key provided: sk-bad.", "invalid_api_key")],
    }),
    works("subagent-refused", "a subagent's request is refused", [does(task()), DONE], {
      child: [refuse(400, "Unsupported value: 'temperature'.", "unsupported_value")],
    }),
    works("subagent-at-its-limit", "a subagent's answer is cut at the limit", [does(task()), DONE], {
      child: [say("Half an", "length")],
    }),
    works("subagent-of-no-kind", "a kind of subagent that is not there", [does(task("architect")), DONE]),
    works(
      "subagent-permission-rejected",
      "a subagent's question is rejected, and the run goes on",
      [does(task()), DONE],
      {
        config: { permission: { bash: "ask" } },
        child: [does(run("echo child")), say("The child goes on.")],
      },
    ),
    works("subagent-denied", "a subagent meets a rule against files outside", [does(task()), DONE], {
      config: { permission: { external_directory: "deny" } },
      child: [does(call("read", { filePath: "/etc/hosts" })), say("I may not.")],
    }),
    cancelled("subagent-cancelled", "turnd cancels while a subagent waits for its model", does(task()), {
      child: [HANG],
      stop: onceAsked(2, "cancel", "SIGKILL"),
    }),
    fails("subagent-killed", "crashed", "SIGKILL from outside while a subagent waits for its model", does(task()), {
      child: [HANG],
      stop: onceAsked(2, null, "SIGKILL"),
    }),
  ),
  ...only(
    "cli-b",
    works(
      "plan-tool-gone",
      "the tool update_plan is offered no more",
      [
        does(call("update_plan", step("in_progress"))),
        does(run("echo reading")),
        does(call("update_plan", step("completed"))),
        DONE,
      ],
      { tools: 1 },
    ),
    works("plan", "a plan, with a command", [does(run("ls; sleep 0.3")), DONE], { mode: "plan" }),
    works(
      "subagent-spawned",
      "the operator allows sub-agents; one is spawned",
      [does(call("multi_agent_v1/spawn_agent", { message: "look around" })), DONE],
      { toml: wholeFile("[agents]\nenabled = true") },
    ),
    works(
      "review",
      "a review of what is not committed, with a command",
      [does(run("git diff --stat; sleep 0.3")), REVIEW("Nothing to say.")],
      { mode: "review", prepare: REPOSITORY, args: instead("--uncommitted"), text: "Nothing to say." },
    ),
    works("review-of-commit", "a review of the last commit", REVIEW("No findings."), {
      mode: "review",
      prepare: COMMIT,
      args: instead("--commit", "HEAD"),
      text: "No findings.",
    }),
    fails(
      "review-provider-error",
      "auth_failed",
      "the key is refused in a review",
      refuse(401, "Incorrect API key provided: bad.", "invalid_api_key"),
      { mode: "review", prepare: REPOSITORY, args: instead("--uncommitted"), text: INTERRUPTED },
    ),
    fails(
      "review-refused",
      "invalid_request",
      "a review whose request is refused",
      refuse(400, "Unknown parameter: 'reasoning.summary'.", "unknown_parameter"),
      { mode: "review", prepare: REPOSITORY, args: instead("--uncommitted"), text: INTERRUPTED },
    ),
    fails("review-without-target", "invalid_request", "nothing is named to review", DONE, {
      mode: "review",
      args: instead(),
    }),
    fails("review-for-prompt", "invalid_request", "the prompt is the word review, and a title follows", DONE, {
      args: instead("review", "--title", "Fix the parser"),
    }),
  ),
];
