import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { REPOSITORY, temporaryDirectory } from "../../harness/temporary.ts";
import { startStandingService, type StandingService } from "../harness/standing-service.ts";
import { createSvcCli, SVC } from "../harness/svc-cli.ts";

let service: StandingService;
let key: string;
beforeAll(async () => {
  service = await startStandingService();
  key = await service.key();
});

const TEXT = `# Wings\n\nThe boundary layer of a slender wing separates early.\n\n## Flutter\n\nPanels flutter \u202ein fast flow.\n`;

test("the first commands of docs/svc.md, pasted, answer a question from a folder's papers", async () => {
  const [, block = ""] =
    /```sh\n([^]*?)```/.exec(readFileSync(join(REPOSITORY, "docs/svc.md"), "utf8"))?.map(String) ?? [];
  const kbId = await service.knowledgeBase();
  const directory = temporaryDirectory(onTestFinished);
  mkdirSync(join(directory, "papers"));
  writeFileSync(join(directory, "papers/wings.md"), TEXT);
  const filled = block
    .replace('"$PWD/bin/svc"', `"${SVC.join(" ")}"`)
    .replace("https://svc.example.org", `${service.url} --api-key-stdin <<< "$KEY"`)
    .replaceAll("kb_…", kbId);
  expect(filled).not.toContain("…");
  const { exitCode, stdout, stderr } = await execa("bash", ["-euO", "expand_aliases", "-c", filled], {
    cwd: directory,
    env: { PATH: "/usr/bin:/bin", HOME: directory, KEY: key },
    extendEnv: false,
    reject: false,
    stdin: "ignore",
  });
  expect(exitCode, stdout + stderr).toBe(0);
  expect(stdout).toMatch(/1 scanned: 1 added[^]*1 parsed, 0 failed\n1 file: 1 indexed, 0 failed\n1\. .*wings\.md:\d/);
});

test("a document goes in and its lines come out", async () => {
  const kbId = await service.knowledgeBase();
  const svc = createSvcCli({ SVC_URL: service.url, SVC_API_KEY: key });
  const file = join(temporaryDirectory(onTestFinished), "wings.md");
  writeFileSync(file, TEXT);
  const kb = ["--kb-id", kbId];
  const list = await svc.run(["kb", "list", "--json"]);
  expect(list.json).toEqual((await service.call("GET", "/api/knowledge/databases/external")).body);
  expect((await svc.run(["kb", "upload", file, ...kb])).stdout).toBe(
    `1 scanned: 1 added, 0 already there, 0 skipped, 0 failed; 1 uploaded (${Buffer.byteLength(TEXT)} B)\n`,
  );
  const files = await svc.run(["kb", "files", ...kb, "--query", "WING", "--json"]);
  expect(files.json).toMatchObject({ total: 1, files: [{ filename: "wings.md", source_path: "wings.md" }] });
  const fileId: string = files.json.files[0].file_id;
  const early = await svc.run(["kb", "open", ...kb, "--file-id", fileId]);
  expect(early).toMatchObject({ code: 1, stderr: "svc: wings.md has not been parsed (file_not_parsed)\n" });

  expect(await svc.run(["kb", "parse", ...kb, "--pending", "--wait"])).toMatchObject({
    code: 0,
    stdout: "1 file: 1 parsed, 0 failed\n",
  });
  const queued = await svc.run(["kb", "index", ...kb, "--file-id", fileId, "--json"]);
  expect(queued.json).toMatchObject({ status: "queued" });
  expect(await svc.run(["task", "wait", queued.json.task_id])).toMatchObject({
    code: 0,
    stdout: "1 file: 1 indexed, 0 failed\n",
  });
  expect((await svc.run(["task", "show", queued.json.task_id])).stdout).toContain("status    success");
  expect((await svc.run(["kb", "index", ...kb, "--pending"])).stdout).toBe("no file to index\n");
  expect((await svc.run(["kb", "status", ...kb])).stdout).toMatch(/indexed +1\n/);

  const asked = await svc.run(["kb", "query", ...kb, "panel", "flutter", "--top-k", "1"]);
  expect(asked.stdout).toMatch(/^1\. \d+\.\d{3} {2}wings\.md:\d+-\d+\n/);
  const [, offset = "", limit = ""] = /--offset (\d+) --limit (\d+)/.exec(asked.stderr) ?? [];
  const opened = await svc.run(["kb", "open", ...kb, "--file-id", fileId, "--offset", offset, "--limit", limit]);
  // What would turn the line around on a terminal is shown, not obeyed.
  expect(opened.stdout).toContain("Panels flutter \\u202ein fast flow.");
  expect((await svc.run(["kb", "open", ...kb, "--file-id", fileId, "--all", "--plain"])).stdout).toBe(
    TEXT.replace("\u202e", "\\u202e"),
  );
  expect((await svc.run(["kb", "open", ...kb, "--file-id", fileId, "--all", "--json"])).json.content).toBe(
    (await service.call("GET", `/api/knowledge/databases/external/${kbId}/files/${fileId}/open?limit=1800`)).body
      .content,
  );

  const found = await svc.run(["kb", "find", ...kb, "--file-id", fileId, "--pattern", "FLUTTER", "--window-size", "1"]);
  expect(found).toMatchObject({ code: 0, stderr: "2 matching lines of 7\n" });
  expect(found.stdout).toContain(">     5  ## Flutter");
  expect((await svc.run(["kb", "find", ...kb, "--file-id", fileId, "--pattern", "no such"])).code).toBe(1);
  const bad = await svc.run(["kb", "find", ...kb, "--file-id", fileId, "--regex", "--pattern", "(", "--json"]);
  expect(bad).toMatchObject({ code: 1, json: { error: { code: "pattern_invalid", status: 422 } } });
  expect((await svc.run(["kb", "open", ...kb, "--file-id", "file_none"])).code).toBe(5);
  expect((await svc.run(["kb", "status", "--kb-id", "kb_none"])).code).toBe(5);
});

test("a file that cannot be parsed makes waiting end with 1, and names it", async () => {
  const kbId = await service.knowledgeBase();
  const svc = createSvcCli({ SVC_URL: service.url, SVC_API_KEY: key });
  const file = join(temporaryDirectory(onTestFinished), "broken.pdf");
  writeFileSync(file, "%PDF-1.7 and no more");
  await svc.run(["kb", "upload", file, "--kb-id", kbId, "--quiet"]);
  const done = await svc.run(["kb", "parse", "--kb-id", kbId, "--pending", "--wait"]);
  expect(done).toMatchObject({ code: 1, stdout: "1 file: 1 failed\n" });
  expect(done.stderr).toMatch(/broken\.pdf +corrupt/);
});

test("progress is drawn on a terminal only", async () => {
  const kbId = await service.knowledgeBase();
  const directory = temporaryDirectory(onTestFinished);
  writeFileSync(join(directory, "a.md"), "text");
  const env = { PATH: "/usr/bin:/bin", HOME: directory, TERM: "xterm", SVC_URL: service.url, SVC_API_KEY: key };
  const command = [...SVC, "kb", "upload", directory, "--kb-id", kbId].join(" ");
  const { stdout } = await execa("script", ["-qec", command, "/dev/null"], { env, extendEnv: false, stdin: "ignore" });
  expect(stdout).toContain("\r[");
  expect(stdout).toMatch(/1 added/);
  const piped = await createSvcCli(env).run(["kb", "upload", directory, "--kb-id", kbId]);
  expect(piped.stderr).not.toContain("\r");
});

test("the shell completes commands, options, their values and knowledge bases", async () => {
  const kbId = await service.knowledgeBase();
  const env = {
    PATH: `${join(REPOSITORY, "bin")}:/usr/bin:/bin`,
    HOME: temporaryDirectory(onTestFinished),
    SVC_URL: service.url,
    SVC_API_KEY: key,
  };
  const complete = async (...words: string[]): Promise<string[]> => {
    const script = `source <(svc completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _svc; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const { stdout } = await execa("bash", ["-c", script, "bash", ...words], { env, extendEnv: false });
    return stdout.split("\n");
  };
  expect(await complete("svc", "kb", "f")).toEqual(["files", "find"]);
  expect(await complete("svc", "kb", "query", "--mo")).toEqual(["--mode"]);
  expect(await complete("svc", "kb", "query", "--mode", "h")).toEqual(["hybrid"]);
  expect(await complete("svc", "kb", "status", "--kb-id", "")).toContain(kbId);
  expect(await complete("svc", "kb", "upload", join(REPOSITORY, "READ"))).toEqual([join(REPOSITORY, "README.md")]);
  const { stdout: zsh } = await execa("svc", ["completion", "zsh"], { env, extendEnv: false });
  expect(zsh).toMatch(/^#compdef svc\n/);
});

test("what a URL would read as another route is no id", async () => {
  const svc = createSvcCli({ SVC_URL: service.url, SVC_API_KEY: key });
  for (const [args, id] of [
    [["kb", "status", "--kb-id", "."], "."],
    [["kb", "open", "--kb-id", "..", "--file-id", "file_1"], ".."],
    [["task", "show", "."], "."],
  ] as const) {
    expect([args, await svc.run([...args])]).toMatchObject([
      args,
      { code: 2, stderr: `svc: ${JSON.stringify(id)} is no id (usage)\n` },
    ]);
  }
});
