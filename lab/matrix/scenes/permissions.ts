import { call, does, DONE, run, text, type Piece } from "../reply.ts";
import { fails, only, works, type Scene } from "../scene.ts";

const rules = (permission: object) => ({ config: { permission } });
/** The CLI's own: files outside, a loop and `.env` are asked about. */
const DEFAULTS = rules({ "*": null });
const write = (filePath: string): Piece => call("write", { filePath, content: "x" });
const read = (filePath: string): Piece => call("read", { filePath });
const FETCH = call("webfetch", { url: "http://127.0.0.1:9/", format: "text" });
const rejected = (name: string, why: string, replies: Parameters<typeof fails>[3], more: Parameters<typeof fails>[4]) =>
  fails(name, "permission_denied", why, replies, more);

/** Rules that deny, which a model goes on from, and questions that nobody answers, which end the turn. CLI B asks nobody. */
export const PERMISSIONS: readonly Scene[] = only(
  "cli-a",
  works(
    "denied-by-rule",
    "the tool is not offered, so the call is one of an unknown tool",
    [does(write("new.txt")), DONE],
    rules({ edit: "deny" }),
  ),
  works(
    "denied-command",
    "the shell is denied, and the model goes on another way",
    [does(run("rm -rf build")), does(write("b.txt")), DONE],
    rules({ bash: "deny" }),
  ),
  works(
    "outside-denied",
    "a rule denies files outside",
    [does(read("/etc/hosts")), does(write("/var/tmp/none.txt")), DONE],
    rules({ external_directory: "deny" }),
  ),
  works(
    "outside-allowed",
    "a file, a folder and a new file outside",
    [does(read("/etc/os-release")), does(run("ls /usr/share >/dev/null")), does(write("../sibling.txt")), DONE],
    rules({ external_directory: "allow" }),
  ),
  works(
    "same-call-not-in-a-row",
    "the same call again and again, with another between",
    [
      does(run("date +%j")),
      does(run("date +%j")),
      does(run("echo other")),
      does(run("date +%j")),
      does(run("date +%j")),
      DONE,
    ],
    DEFAULTS,
  ),
  rejected(
    "permission-auto-rejected",
    "the top session's question is rejected",
    does(run("echo hello")),
    rules({ bash: "ask" }),
  ),
  rejected("asked-after-text", "a text, then a question", does(text("I push it."), run("git push")), {
    ...rules({ bash: "ask" }),
    text: "I push it.",
  }),
  rejected(
    "asked-by-pattern",
    "one command of a pattern, after one that ran",
    [does(run("echo before")), does(run("curl http://127.0.0.1:9/"))],
    rules({ bash: { "*": "allow", "curl *": "ask" } }),
  ),
  rejected("asked-for-two", "two commands in one answer", does(run("npm install"), run("npm test")), {
    ...rules({ bash: "ask" }),
    also: ["output_incomplete"],
  }),
  rejected("asked-for-edit", "an edit", [does(run("echo fine")), does(write("e.txt"))], rules({ edit: "ask" })),
  rejected("asked-for-fetch", "a page", [does(run("echo one")), does(FETCH)], rules({ webfetch: "ask" })),
  rejected("asked-for-secrets", "a file of secrets", does(read("config/.env.production")), {
    ...DEFAULTS,
    prepare: "mkdir $workspace/config; echo A=1 >$workspace/config/.env.production",
  }),
  rejected(
    "external-directory-rejected",
    "a file outside",
    does(read("/etc/hostname")),
    rules({ external_directory: "ask" }),
  ),
  rejected(
    "outside-asked-by-path",
    "a file outside, by a way up",
    does(read("../../../etc/os-release")),
    rules({ external_directory: "ask" }),
  ),
  rejected(
    "outside-asked-for-search",
    "searches outside, by another API",
    [does(run("echo inside")), does(call("grep", { pattern: "root", path: "/etc" }))],
    { ...DEFAULTS, api: "messages" },
  ),
  rejected(
    "outside-asked-for-command",
    "a command that reaches outside",
    does(run("cp /etc/hostname /var/tmp/none")),
    DEFAULTS,
  ),
  rejected(
    "outside-asked-for-workdir",
    "a command that works outside",
    does(call("bash", { command: "ls", description: "Lists", workdir: "/etc" })),
    rules({ external_directory: "ask" }),
  ),
  rejected("outside-asked-for-write", "a new file outside", does(write("/var/tmp/none.txt")), DEFAULTS),
  rejected("outside-asked-beside-repository", "a new file beside the repository", does(write("../beside.txt")), {
    ...DEFAULTS,
    prepare: "git init -q $workspace",
  }),
  rejected(
    "doom-loop-denied",
    "the same call over and over",
    does(...Array.from({ length: 4 }, () => run("echo same"))),
    { ...rules({ doom_loop: "deny" }), tools: 0 },
  ),
  rejected(
    "doom-loop-asked",
    "the guard against loops asks",
    does(...Array.from({ length: 4 }, () => call("grep", { pattern: "TODO" }))),
    { ...rules({ doom_loop: "ask" }), tools: 0 },
  ),
);
