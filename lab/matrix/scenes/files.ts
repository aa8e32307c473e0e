import { call, does, DONE, run, type Piece } from "../reply.ts";
import { only, works, type Scene } from "../scene.ts";
import { TOOL } from "./parts.ts";

const read = (filePath: string): Piece => call("read", { filePath });
const write = (filePath: string, content: string): Piece => call("write", { filePath, content });
const edit = (filePath: string, oldString: string, newString: string, more: object = {}): Piece =>
  call("edit", { filePath, oldString, newString, ...more });

const patch = (body: string): Piece => run(`apply_patch <<'EOF'\n*** Begin Patch\n${body}\n*** End Patch\nEOF`);
const sandbox = (mode: string) => ({ variables: { CLI_B_SANDBOX_MODE: mode } });

/** Turns that read, search and write files. */
export const FILES: readonly Scene[] = [
  works("workspace-read-only", "a command cannot write", [does(run("echo x >new.txt || sleep 0.3")), DONE], {
    prepare: "chmod 555 $workspace",
  }),
  works("git-broken", "the workspace's git directory is garbage", [TOOL, DONE], {
    prepare: "mkdir $workspace/.git; echo garbage >$workspace/.git/HEAD",
  }),
  works("large-file", "a file of 100 kB is written by a command", [
    does(run(`sleep 1; printf '%s' '${"x".repeat(100_000)}' >large.txt`)),
    DONE,
  ]),
  ...only(
    "cli-a",
    works("tool-fails", "a file that is not there", [does(read("missing.txt")), DONE]),
    works(
      "edit-after-read",
      "a file is read and changed",
      [does(read("notes.txt")), does(edit("notes.txt", "first line", "first line (edited)")), DONE],
      { prepare: "printf 'first line\\nsecond line\\n' >$workspace/notes.txt" },
    ),
    works(
      "edit-everywhere",
      "every place of a word",
      [does(read("a.ini")), does(edit("a.ini", "80", "8080", { replaceAll: true })), DONE],
      { prepare: "printf 'port=80\\nadmin=80\\n' >$workspace/a.ini" },
    ),
    works(
      "edit-own-file",
      "a written file is edited, by another API",
      [does(write("Makefile", "all:\n\techo one\n")), does(edit("Makefile", "echo one", "echo two")), DONE],
      { api: "messages" },
    ),
    works("edit-text-not-there", "words that the file does not have", [does(edit("README", "three", "four")), DONE], {
      prepare: "echo one >$workspace/README",
    }),
    works("write", "a file is written", [does(write("new.txt", "hello\n")), DONE]),
    works("write-two", "in new folders, and an empty one", [
      does(write("a/b/c.json", '{"ok":true}\n'), write("d.txt", "")),
      DONE,
    ]),
    works("write-large", "a quarter of a megabyte", [does(write("large.txt", "line\n".repeat(50_000))), DONE]),
    works("workspace-full", "a file does not fit", [does(write("big.txt", "x".repeat(200_000))), DONE], {
      prepareAsRoot: "mount -t tmpfs -o size=64k,mode=777 tmpfs $workspace",
    }),
    works("read-binary", "a file that is no text", [does(read("data.bin")), DONE], {
      prepare: "printf '\\000\\377\\376\\000\\001\\002' >$workspace/data.bin",
    }),
    works(
      "search-tools",
      "two searches in one answer",
      [does(call("glob", { pattern: "*.txt" }), call("grep", { pattern: "needle" })), DONE],
      { prepare: "echo needle >$workspace/notes.txt" },
    ),
    works(
      "tools-mixed",
      "six calls over three steps",
      [
        does(run("ls"), read("in.csv"), read("none.csv")),
        does(write("out/b.csv", "b\n2\n"), run("false")),
        does(call("glob", { pattern: "**/*.csv" })),
        DONE,
      ],
      { prepare: "echo a,b >$workspace/in.csv" },
    ),
    works(
      "same-call-in-one-step",
      "identical calls, everything is allowed",
      [does(...Array.from({ length: 4 }, () => read("same.txt"))), DONE],
      { prepare: "echo same >$workspace/same.txt" },
    ),
  ),
  ...only(
    "cli-b",
    works("file-too-large", "a command may write no large file", [
      does(run("ulimit -f 1; head -c 200000 /dev/zero >big")),
      DONE,
    ]),
    works("patch-applied", "files are added, changed and removed", [
      does(patch("*** Add File: a.txt\n+one\n+two\n*** Add File: b.txt\n+gone soon")),
      does(patch("*** Update File: a.txt\n@@\n-one\n+ONE\n two\n*** Delete File: b.txt")),
      DONE,
    ]),
    works("patch-moves", "a file is added, then renamed and changed", [
      does(patch("*** Add File: src/old.py\n+def f():\n+    return 1")),
      does(patch("*** Update File: src/old.py\n*** Move to: src/new.py\n@@\n def f():\n-    return 1\n+    return 2")),
      DONE,
    ]),
    works(
      "patch-rejected",
      "two that fit no file, and one that is no patch",
      [
        does(patch("*** Update File: nowhere.txt\n@@\n-one\n+ONE")),
        does(patch("*** Change File: greet.txt\n+what")),
        DONE,
      ],
      { tools: 0 },
    ),
    works(
      "patch-into-closed-directory",
      "a patch cannot be written",
      [does(patch("*** Add File: closed/new.txt\n+x")), DONE],
      {
        prepareAsRoot: "mkdir -m 555 $workspace/closed",
      },
    ),
    works("patch-blocked-read-only", "a plan's patch is refused", [does(patch("*** Add File: a.txt\n+one")), DONE], {
      mode: "plan",
      tools: 0,
    }),
    works("patch-in-read-only-sandbox", "a patch is refused", [does(patch("*** Add File: a.md\n+# A")), DONE], {
      ...sandbox("read-only"),
      tools: 0,
    }),
    works(
      "patch-in-workspace-sandbox",
      "a patch in the workspace's sandbox",
      [does(patch("*** Add File: pages/note.md\n+# Note")), DONE],
      sandbox("workspace-write"),
    ),
    works(
      "write-in-read-only-sandbox",
      "a command writes, and fails",
      [does(run("date >stamp.txt || echo 'cannot write'; sleep 0.3")), DONE],
      { ...sandbox("read-only"), also: ["sandbox_unavailable"] },
    ),
  ),
];
