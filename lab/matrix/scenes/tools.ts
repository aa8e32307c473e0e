import { wholeFile } from "../cli-b.ts";
import { call, does, DONE, run, text, thought, type Piece } from "../reply.ts";
import { only, works, type Scene } from "../scene.ts";
import { MCP_SERVER, TOOL, WORDS_OF_ERRORS } from "./parts.ts";

const mcp = (servers: Readonly<Record<string, object>>) => ({ config: { mcp: servers } });
const read = (filePath: string): Piece => call("read", { filePath });
const LAB = { type: "local", command: ["/usr/bin/perl", "-e", MCP_SERVER], enabled: true };
/** A second run of the CLI in the same place, by a command. */
const SECOND_RUN = { env: { LAB_CLI: "{binary}" } };
const lookup = (action: object): Piece => ({ type: "item", item: { type: "web_search_call", action } });
const labServer = wholeFile(`[mcp_servers.lab]
command = "/usr/bin/perl"
args = ["-e", ${JSON.stringify(MCP_SERVER)}]
default_tools_approval_mode = "approve"
`);
const sandbox = (mode: string) => ({ variables: { CLI_B_SANDBOX_MODE: mode } });
const ESCALATED = call("exec_command", {
  cmd: "touch /etc/x",
  sandbox_permissions: "require_escalated",
  justification: "I want to",
});
/** Starts a command where no user namespace can be made. */
const WITHOUT_NAMESPACES = [
  "unshare",
  "-U",
  "--map-current-user",
  "--keep-caps",
  "sh",
  "-c",
  'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --ambient-caps=-all --inh-caps=-all "$@"',
  "sh",
];

/** Turns whose tools succeed, fail, print much or nothing: none of it fails the turn. */
export const TOOLS: readonly Scene[] = [
  works("tool-succeeds", "one command, then the answer", [does(run("echo tool-ok; echo two >&2")), DONE], {
    cliB: { name: "shell-succeeds" },
  }),
  works("tool-exits-nonzero", "a command ends with 3", [does(run("echo partial; echo broken >&2; exit 3")), DONE], {
    cliB: { name: "shell-fails" },
  }),
  works(
    "parallel-tools",
    "two commands in one answer",
    [does(run("sleep 0.3; echo one"), run("echo two; exit 1")), DONE],
    {
      cliB: { name: "shell-parallel" },
    },
  ),
  works(
    "tool-prints-errors",
    "error texts of a tool prove nothing",
    [does(run(`cat <<'END'\n${WORDS_OF_ERRORS}\nEND\necho 'database disk image is malformed' >&2; exit 1`)), DONE],
    { cliB: { name: "shell-prints-errors-of-others" } },
  ),
  works("text-beside-tool", "a text and a tool in one answer", [does(text("I look."), run("echo here")), DONE]),
  works("thought-beside-tool", "a thought and a tool in one answer", [
    does(thought("The tree?"), run("ls -ld .")),
    DONE,
  ]),
  works("tools-one-after-another", "ten commands", [
    ...Array.from({ length: 10 }, (_, at) => does(run(`echo ${at}; sleep 0.2`))),
    DONE,
  ]),
  works("tools-at-once", "eight commands in one answer", [
    does(...Array.from({ length: 8 }, (_, at) => run(`echo ${at}; sleep 0.2`))),
    DONE,
  ]),
  works("tool-prints-much", "two megabytes", [does(run("seq 1 400000")), DONE]),
  works("tool-prints-long-line", "120,000 characters without a line's end", [
    does(run("head -c 120000 /dev/zero | tr '\\0' x")),
    DONE,
  ]),
  works("tool-silent", "two commands that print nothing", [
    does(run("sleep 1; true")),
    does(run("sleep 1; false")),
    DONE,
  ]),
  works("tool-killed-by-signal", "a command ends by a signal", [does(run("kill -SEGV $$")), DONE], {
    cliB: { name: "shell-killed-by-signal" },
  }),
  works("tool-leaves-processes", "two processes stay in the background", [
    does(run("(setsid sleep 8 >/dev/null 2>&1 &) ; nohup sleep 6 >/dev/null 2>&1 & echo left")),
    DONE,
  ]),
  works("tool-prints-environment", "a key in a variable is visible", [does(run("env | sort")), DONE], {
    env: { LAB_DUMMY_TOKEN: "FAKE-LAB-KEY-B" },
    cliB: { name: "environment-without-the-key" },
  }),
  ...only(
    "cli-a",
    works("tool-times-out", "a command that is cut off", [does(run("sleep 60", { timeoutMs: 1000 })), DONE]),
    works("tools-all-fail", "three tools", [
      does(read("/workspace/none.txt"), run("exit 7"), call("grep", { pattern: "(", path: "/none" })),
      DONE,
    ]),
    works("same-call-five-times", "the same command in each step", [
      ...Array.from({ length: 5 }, () => does(run("date +%Y"))),
      DONE,
    ]),
    works("anthropic-tool", "one command by another API", [does(run("echo tool-ok")), DONE], { api: "messages" }),
    works("anthropic-tools", "two commands by another API", [does(run("uname -s"), run("exit 9")), DONE], {
      api: "messages",
    }),
    works("responses-tool", "one command by a third API", [does(run("echo r")), DONE], { api: "responses" }),
    works(
      "mcp-tools",
      "a tool of a server answers, one fails, one breaks",
      [does(call("lab_say", { text: "ok" })), does(call("lab_fail"), call("lab_snap")), DONE],
      mcp({ lab: LAB }),
    ),
    works(
      "mcp-servers-gone",
      "servers that cannot be started or reached",
      [TOOL, DONE],
      mcp({
        gone: { type: "local", command: ["/nonexistent/server"], enabled: true },
        far: { type: "remote", url: "http://127.0.0.1:9/mcp", enabled: true },
      }),
    ),
    works("unknown-tool", "a tool that is not offered", [does(call("telepathy", { of: "whom" })), DONE]),
    works(
      "unknown-tool-then-right",
      "by wrong names, then the right one, by another API",
      [does(call("Bash", { command: "ls" }), call("functions.exec")), does(run("ls")), DONE],
      { api: "messages" },
    ),
    works("question-not-offered", "nobody can be asked", [
      does(call("question", { questions: [{ question: "Which one?", header: "Which", options: [] }] })),
      DONE,
    ]),
    works("tool-arguments-invalid", "of a wrong type, and none", [
      does(call("bash", { command: 5 })),
      does(call("grep")),
      DONE,
    ]),
    works("tool-arguments-no-json", "cut off", [does(call("bash", '{"command": "ls, "description": "cut')), DONE]),
    works("webfetch-refused", "a page that cannot be fetched", [
      does(call("webfetch", { url: "http://127.0.0.1:9/doc", format: "markdown" })),
      DONE,
    ]),
    works(
      "second-run",
      "a command starts another run in the same place",
      [
        does(run('echo "another" | timeout 60 "$LAB_CLI" run --format=json >second.jsonl; tail -c 200 second.jsonl')),
        DONE,
      ],
      SECOND_RUN,
    ),
  ),
  ...only(
    "cli-b",
    works("shell-open-at-turn-end", "a command still runs when the turn ends", [
      does(run("for i in 1 2 3 4 5 6; do echo line $i; sleep 2; done", { yieldMs: 500 })),
      DONE,
    ]),
    works(
      "shell-polled",
      "the model waits for a command with write_stdin",
      [
        does(run("sleep 1; echo late", { yieldMs: 300 })),
        does(call("write_stdin", { session_id: 1, chars: "", yield_time_ms: 3000 })),
        DONE,
      ],
      { tools: 1 },
    ),
    works("shell-ends-behind", "a command that was left running ends while a second one runs", [
      does(run("sleep 1; echo first is over", { yieldMs: 250 })),
      does(run("sleep 2.5; echo second")),
      DONE,
    ]),
    works(
      "shell-in-terminal",
      "without unified_exec, and by no login shell",
      [
        does(call("exec_command", { cmd: "tty; echo old way", tty: true })),
        does(call("exec_command", { cmd: "test -e missing.txt", login: false })),
        DONE,
      ],
      { toml: wholeFile("[features]\nunified_exec = false") },
    ),
    works("parents-environment", "a command prints the CLI's environment and is open at the end", [
      does(run("tr '\\0' '\\n' </proc/$PPID/environ | cut -c1-12; sleep 45", { yieldMs: 800 })),
      DONE,
    ]),
    works("escalation-rejected", "a command outside the sandbox is refused", [does(ESCALATED), DONE], {
      ...sandbox("workspace-write"),
      tools: 0,
    }),
    works("no-namespaces-no-sandbox", "no namespace can be made, and none is wanted", [TOOL, DONE], {
      within: WITHOUT_NAMESPACES,
    }),
    works("no-namespaces-sandboxed", "no namespace can be made: commands fail, the turn completes", [TOOL, DONE], {
      ...sandbox("workspace-write"),
      within: WITHOUT_NAMESPACES,
      also: ["sandbox_unavailable"],
    }),
    works(
      "unsupported-tool",
      "tools that do not exist, and arguments that are none",
      [
        does(call("no_such_tool", "{not json")),
        does(call("container.exec", { cmd: ["bash", "-lc", "ls"] }), call("shell_command", { command: "exit 9" })),
        does(call("exec_command", '{"cmd": "echo')),
        DONE,
      ],
      { tools: 0 },
    ),
    works(
      "web-search",
      "the provider searches, opens a page, finds in it",
      does(
        lookup({ type: "search", query: "word" }),
        lookup({ type: "open_page", url: "https://example.invalid/page" }),
        lookup({ type: "find_in_page", url: "https://example.invalid/page", pattern: "word" }),
        text("Done."),
      ),
      { tools: 3 },
    ),
    works(
      "image-generated",
      "the provider makes an image: nothing is printed of it",
      does(
        { type: "item", item: { type: "image_generation_call", revised_prompt: "a dot", result: "aGVsbG8=" } },
        text("Done."),
      ),
    ),
    works(
      "image-viewed",
      "the model looks at a file that is not there",
      [does(call("view_image", { path: "gone.png" })), DONE],
      { tools: 0 },
    ),
    works(
      "mcp-tool",
      "a tool of a server answers, one fails, one breaks",
      [does(call("mcp__lab/say", { text: "yo" })), does(call("mcp__lab/fail"), call("mcp__lab/snap")), DONE],
      { toml: labServer },
    ),
    works(
      "mcp-server-fails",
      "servers that are not required cannot be started or reached, or end at once",
      [TOOL, DONE],
      {
        toml: wholeFile(
          '[mcp_servers.gone]\ncommand = "/nonexistent"\n[mcp_servers.flaky]\ncommand = "/bin/false"\n[mcp_servers.far]\nurl = "http://127.0.0.1:9/mcp"',
        ),
      },
    ),
    works(
      "user-input-unavailable",
      "nobody can be asked",
      [
        does(
          call("request_user_input", {
            questions: [{ id: "q", header: "H", question: "Which?", options: [{ label: "a", description: "b" }] }],
          }),
        ),
        DONE,
      ],
      { tools: 0 },
    ),
  ),
];
