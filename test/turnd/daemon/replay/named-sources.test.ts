import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { pack } from "tar-stream";
import { expect, onTestFinished, test, vi } from "vitest";
import { exportText } from "../../../harness/recordings.ts";
import { REPOSITORY, temporaryDirectory } from "../../../harness/temporary.ts";
import { replayNamed } from "./replay-named.ts";

const CLI_A = join(REPOSITORY, "fixtures/cli-a/1.14.34/bad-key");
const CLI_B = join(REPOSITORY, "fixtures/cli-b/0.139.0/rate-limited");
const STDOUT = readFileSync(join(CLI_B, "stdout.jsonl"));

/** A directory with these files. */
function directoryWith(files: Readonly<Record<string, string | Buffer>>): string {
  const directory = temporaryDirectory(onTestFinished);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(directory, name, ".."), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

async function tarOf(entries: readonly { name: string; type?: "file" | "symlink" | "fifo"; content?: Buffer }[]) {
  const archive = pack();
  for (const { name, type = "file", content } of entries) {
    if (type === "file") archive.entry({ name, type }, content ?? Buffer.alloc(0));
    else archive.entry({ name, type, ...(type === "symlink" ? { linkname: "/etc/passwd" } : {}) });
  }
  archive.finalize();
  return buffer(archive);
}

const unpacked = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("turnd-replay-"));

test("a directory is searched for recordings, documents, output and archives, in the order of their names", async () => {
  const base = directoryWith({
    "a/one.json": await exportText(CLI_B),
    "b/two.jsonl": STDOUT,
    "c/three.json.gz": gzipSync(await exportText(CLI_A)),
    "d/four.tgz": gzipSync(await tarOf([{ name: "x/mailed.jsonl", content: STDOUT }])),
    "e/stdout.jsonl": STDOUT,
    "e/exit.json": '{"code":1,"signal":null}',
    "f/package.json": '{"name":"not a recording"}',
    "f/notes.txt": "nor is this",
    "home/rollout.jsonl": '{"a CLI\'s own":"file"}\n',
    ".git/x.jsonl": "no\n",
  });
  cpSync(CLI_A, join(base, "z"), { recursive: true });
  const { code, document, stderr } = await replayNamed([base], { show: "summary", isJson: true });
  expect([code, stderr]).toEqual([0, ""]);
  expect(document.recordings.map(({ recording }) => recording.slice(base.length + 1))).toEqual([
    "a/one.json",
    "b/two.jsonl",
    "c/three.json.gz",
    "d/four.tgz/x/mailed.jsonl",
    "e",
    "z",
  ]);
  expect(document.recordings.map(({ output_alone: alone }) => alone?.exit_recorded)).toEqual([
    undefined,
    false,
    undefined,
    false,
    true,
    undefined,
  ]);
});

test("links, loops and pipes in a directory are skipped, and what cannot be recognised is a fault", async () => {
  const base = directoryWith({ "found/a.jsonl": STDOUT, "found/b.jsonl": "hello\n" });
  symlinkSync(base, join(base, "found/loop"));
  symlinkSync(join(base, "nowhere"), join(base, "found/gone.jsonl"));
  execFileSync("mkfifo", [join(base, "found/pipe.jsonl")]);
  const { code, printed, stderr } = await replayNamed([`${base}/`], { show: "summary" });
  expect([code, printed.split("\n")[0]]).toEqual([1, expect.stringContaining("found/a.jsonl  failed rate_limited")]);
  expect(stderr).toBe(
    `turnd: ${base}/found/b.jsonl: cannot tell whose output it is: none of its first 1 lines is a record of cli-a or ` +
      "cli-b; name the CLI with --executor\n",
  );
  const none = await replayNamed([directoryWith({ "x.txt": "" })]);
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("holds no recording")]);
});

test("every event names its recording, and two of one name have ids of their own", async () => {
  const base = directoryWith({ "a/run.jsonl": STDOUT, "b/run.jsonl": STDOUT });
  const { events } = await replayNamed([base]);
  const named = Map.groupBy(
    events as { recording: string; turn_id: string; session_id: string }[],
    ({ recording }) => recording,
  );
  expect([...named.keys()]).toEqual([join(base, "a/run.jsonl"), join(base, "b/run.jsonl")]);
  const ids = [...named.values()].map((own) => [
    ...new Set(own.map((event) => `${event.turn_id} ${event.session_id}`)),
  ]);
  expect(ids).toEqual([["replay.run session.run"], ["replay.run.2 session.run.2"]]);
});

test.each([
  ["a byte order mark", Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), STDOUT])],
  ["CRLF", Buffer.from(STDOUT.toString("utf8").replaceAll("\n", "\r\n"))],
  ["no newline at its end", Buffer.from(STDOUT.toString("utf8").trimEnd())],
  ["lines of a shell around it", Buffer.concat([Buffer.from("$ codex exec\n\n"), STDOUT, Buffer.from("$ \n")])],
])("output with %s is explained as without", async (_, content) => {
  const { code, document } = await replayNamed(["-"], { show: "summary", isJson: true, input: [content] });
  expect(code).toBe(0);
  expect(document.recordings[0]).toMatchObject({
    recording: "standard input",
    executor: "cli-b",
    ended: { failure: { code: "rate_limited" } },
  });
});

test("output whose last line is cut off is read to there, and not taken for complete", async () => {
  const text = readFileSync(join(REPOSITORY, "fixtures/cli-b/0.139.0/text-answer/stdout.jsonl"), "utf8").trimEnd();
  const { document } = await replayNamed(["-"], {
    show: "summary",
    isJson: true,
    input: [Buffer.from(text.slice(0, -9))],
  });
  const [{ ended } = { ended: undefined }] = document.recordings;
  expect(ended).toMatchObject({ status: "failed", failure: { code: "unknown" }, counts: { unknown: 1 } });
  expect(ended?.failure?.message).toMatch(/^The output stops before the turn does, and how the process ended/);
});

test("output of two runs is reported with the line at which the second begins", async () => {
  const first = readFileSync(join(REPOSITORY, "fixtures/cli-b/0.139.0/text-answer/stdout.jsonl"));
  const lines = first.toString("utf8").trimEnd().split("\n").length;
  const { code, stderr } = await replayNamed(["-"], { show: "summary", input: [first, STDOUT] });
  expect([code, stderr]).toEqual([1, expect.stringContaining(`standard input: line ${lines + 1} begins another run`)]);
  const ofA = ["1.14.34/tool-succeeds", "1.14.34/write"].map((name) =>
    readFileSync(join(REPOSITORY, "fixtures/cli-a", name, "stdout.jsonl")),
  );
  expect((await replayNamed(["-"], { show: "summary", input: ofA })).stderr).toContain("begins another run");
});

const RECORDS: unknown[] = STDOUT.toString("utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line));

/** As it is mailed: two lines of a person's, and something before each record. */
function prefixed(prefix: string): Buffer {
  return Buffer.from(`Hello,\nsee {below}:\n${STDOUT.toString("utf8").replaceAll(/^(?=\{)/gm, prefix)}`);
}

/** As a mail program sends lines that are longer than it likes: cut, with a mark of its own at each cut or without one. */
function broken(mark: string, from: (text: string) => string = String): Buffer {
  const lines = from(STDOUT.toString("utf8")).split("\n");
  return Buffer.from(lines.map((line) => line.match(/.{1,76}/g)?.join(`${mark}\r\n`) ?? "").join("\r\n"));
}

const BASE64 = STDOUT.toString("base64").replaceAll(/.{76}/g, "$&\r\n");

test.each([
  ["nothing", Buffer.alloc(0), "is empty, so it is unknown which CLI printed nothing"],
  [
    "noise",
    Buffer.from(Array.from({ length: 5_000 }, (_, index) => (index * 7_919) % 256)),
    "cannot tell whose output",
  ],
  ["UTF-16", Buffer.from(`\ufeff${STDOUT.toString("utf8")}`, "utf16le"), "is UTF-16 text; convert it first"],
  [
    "UTF-16 without its mark",
    Buffer.from(STDOUT.toString("utf8"), "utf16le"),
    "looks like UTF-16 text; convert it first: iconv -f UTF-16LE -t UTF-8",
  ],
  [
    "the other UTF-16 without its mark",
    Buffer.from(STDOUT.toString("utf8"), "utf16le").swap16(),
    "looks like UTF-16 text; convert it first: iconv -f UTF-16BE",
  ],
  ["a quoting mail", prefixed("> "), `line 3 is a record of cli-b behind "> "; take that away first: sed 's/^[^{]*//'`],
  ["a log of containers", prefixed("worker-1  | "), 'line 3 is a record of cli-b behind "worker-1  | "'],
  [
    "a quoted-printable mail",
    broken("=", (text) => text.replaceAll("=", "=3D")),
    "line 5 is a record of cli-b, broken over 2 lines and quoted-printable, as mail programs do; decode it first: " +
      "perl -MMIME::QuotedPrint -0777 -ne 'print decode_qp($_)'",
  ],
  [
    "a mail with broken lines",
    broken(""),
    "line 5 is a record of cli-b, broken over 2 lines, as mail programs do; ask for it as an attachment",
  ],
  ["base64", Buffer.from(BASE64), "line 1 is the beginning of base64; decode it first: base64 -d"],
  [
    "a whole mail",
    Buffer.from(`From: a\nSubject: b\n\n${gzipSync(STDOUT).toString("base64")}\n`),
    "line 4 is the beginning of base64; decode it first: base64 -d",
  ],
  ["an array", Buffer.from(JSON.stringify(RECORDS, null, 2)), "is a JSON array; convert it first: jq -c '.[]'"],
  ["an array in one line", Buffer.from(JSON.stringify(RECORDS)), "is a JSON array"],
  ["a record over lines", Buffer.from(JSON.stringify(RECORDS[0], null, 2)), "has records of several lines"],
  ["events", readFileSync(join(CLI_B, "events.jsonl")), "holds events of turnd (events.jsonl)"],
  ["half a zip", Buffer.from("PK\u0003\u0004 and more"), "is a broken zip archive: "],
  ["xz", Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), "is compressed by xz"],
  [
    "two CLIs",
    Buffer.concat([STDOUT, readFileSync(join(CLI_A, "stdout.jsonl"))]),
    "cannot tell whose output it is: line 1 is a record of cli-b, line 5 one of cli-a",
  ],
  ["half an archive", gzipSync(Buffer.alloc(4_000, "ustar")).subarray(0, 30), "is a truncated gzip file"],
])("%s is refused by name", async (_, content, reason) => {
  const { code, printed, stderr } = await replayNamed(["-"], { input: [content] });
  expect([code, printed]).toEqual([1, ""]);
  expect(stderr).toContain(`turnd: standard input: ${reason}`);
});

test("a record that was cut off before another one is no mail's broken line", async () => {
  const [first = "", ...rest] = STDOUT.toString("utf8").split("\n");
  const { code, stderr } = await replayNamed(["-"], {
    input: [Buffer.from([first.slice(0, 20), first, ...rest].join("\n"))],
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining("read as stdout of cli-b")]);
});

test("a recording without stdout is a fault; one of a turn that never ran is not", async () => {
  const base = temporaryDirectory(onTestFinished);
  cpSync(CLI_B, join(base, "lost"), { recursive: true });
  rmSync(join(base, "lost/stdout.jsonl"));
  mkdirSync(join(base, "waited"));
  const turn = { executor: "cli-b", created_at: "2026-01-01T00:00:00Z", ended_by: "cancel" };
  writeFileSync(join(base, "waited/turn.json"), JSON.stringify(turn));
  const { code, printed, stderr } = await replayNamed([base], { show: "summary" });
  expect([code, stderr]).toEqual([1, `turnd: ${base}/lost: has no stdout.jsonl, so there is nothing to replay\n`]);
  expect(printed).toMatch(/^\S+\/waited {2}cancelled /);
});

test("an archive is read below one directory, whatever it holds, and nothing of it is left", async () => {
  // Of this test's own: others replay at the same time.
  vi.stubEnv("TMPDIR", temporaryDirectory(onTestFinished));
  onTestFinished(() => void vi.unstubAllEnvs());
  const before = unpacked();
  const good = await tarOf([
    { name: "run/turn.json", content: readFileSync(join(CLI_B, "turn.json")) },
    { name: "run/exit.json", content: readFileSync(join(CLI_B, "exit.json")) },
    { name: "run/stderr.log", type: "symlink" },
    { name: "run/pipe", type: "fifo" },
    { name: "./run/stdout.jsonl", content: STDOUT },
  ]);
  for (const archive of [good, gzipSync(good)]) {
    const { code, printed } = await replayNamed(["-"], { show: "summary", input: [archive] });
    expect([code, printed]).toEqual([0, expect.stringMatching(/^standard input\/run {2}failed rate_limited /)]);
  }
  for (const name of ["../out.jsonl", "a/../../out.jsonl", "/tmp/out.jsonl", "..", `${"x/".repeat(2_000)}y`]) {
    const { code, stderr } = await replayNamed(["-"], { input: [await tarOf([{ name, content: STDOUT }])] });
    expect([name, code, stderr]).toEqual([name, 1, expect.stringMatching(/has an entry ".*", which is refused/)]);
  }
  const twice = await replayNamed(["-"], {
    input: [
      await tarOf([
        { name: "a.jsonl", content: STDOUT },
        { name: "a.jsonl/b", content: STDOUT },
      ]),
    ],
  });
  expect([twice.code, twice.stderr]).toEqual([1, expect.stringContaining('"a.jsonl/b": ')]);
  const last = Buffer.from(await tarOf([{ name: "a.jsonl", content: STDOUT }]));
  for (const length of [512, 520, 900]) {
    const cut = await replayNamed(["-"], { input: [last.subarray(0, length)] });
    const reason = 'is a truncated tar archive, in the entry "a.jsonl"';
    expect([length, cut.code, cut.stderr]).toEqual([length, 1, `turnd: standard input: ${reason}\n`]);
  }
  const gzipped = gzipSync(good);
  for (const length of [60, 200, gzipped.length - 4]) {
    const cut = await replayNamed(["-"], { input: [gzipped.subarray(0, length)] });
    const reason = "is a truncated gzip file";
    expect([length, cut.code, cut.stderr]).toEqual([length, 1, `turnd: standard input: ${reason}\n`]);
  }
  expect(unpacked()).toEqual(before);
});

test("a fault inside an archive or a document names the place in it, and never where it was unpacked to", async () => {
  const turn = { name: "run/turn.json", content: readFileSync(join(CLI_B, "turn.json")) };
  const stdout = { name: "run/stdout.jsonl", content: STDOUT };
  const cases: readonly (readonly [Parameters<typeof tarOf>[0], string])[] = [
    [[turn, { name: "run/stdout.jsonl", type: "symlink" }], "/run: has no stdout.jsonl, so there is nothing to replay"],
    [[turn, stdout, { name: "run/exit.json", content: Buffer.from("[]") }], "/run/exit.json: Invalid input: expected"],
    [[turn, stdout, { name: "run/events.jsonl", content: Buffer.from("no\n") }], "/run/events.jsonl: line 1 of"],
    [[turn, stdout, stdout], ': "run/stdout.jsonl": EEXIST: file already exists\n'],
    [
      [turn, stdout, { name: `${"x".repeat(300)}.jsonl`, content: STDOUT }],
      `: "${"x".repeat(300)}.jsonl": ENAMETOOLONG`,
    ],
  ];
  for (const [entries, reason] of cases) {
    const { code, stderr } = await replayNamed(["-"], { input: [await tarOf(entries)] });
    expect([code, stderr]).toEqual([1, expect.stringContaining(`turnd: standard input${reason}`)]);
    expect(stderr).not.toContain("/proc/");
  }
});

test("names and messages cannot steer the terminal", async () => {
  const odd = "\u001b]0;title\u0007\u202e";
  const base = directoryWith({ [`${odd}a.jsonl`]: STDOUT, [`${odd}b.jsonl`]: `${odd}\n` });
  for (const show of ["summary", "decision"] as const) {
    const { printed, stderr } = await replayNamed([base], { show });
    expect(printed).toContain("a.jsonl");
    expect(stderr).toContain("b.jsonl");
    // eslint-disable-next-line no-control-regex -- control characters are what must not be there
    expect(printed + stderr).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
  }
});

test("--json gives explanations with their rules, and a summary with its score", async () => {
  const explained = await replayNamed([CLI_A, CLI_B], { show: "decision", isJson: true });
  expect(explained.document.recordings.map(({ decision }) => decision)).toEqual([
    expect.objectContaining({ verdict: "auth_failed", tried: expect.any(Array) }),
    expect.objectContaining({ verdict: "rate_limited", tried: expect.any(Array) }),
  ]);
  const { document } = await replayNamed([CLI_A, CLI_B, "/nowhere"], { show: "summary", isJson: true });
  expect(document).toMatchObject({ score: { labelled: 2, status: 2, code: 2 }, drift: [{}, {}] });
  expect(document.faults).toEqual([expect.stringContaining("/nowhere: no such file or directory (ENOENT)")]);
  const none = await replayNamed(["/nowhere"], { show: "decision", isJson: true });
  expect(none.document).toEqual({ recordings: [], faults: [expect.stringContaining("ENOENT")] });
});
