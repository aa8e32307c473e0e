import { mkdirSync, readdirSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { waitFor } from "../../harness/wait-for.ts";
import { startLossyProxy, type Handling } from "../harness/lossy-proxy.ts";
import { startStandingService, type StandingService } from "../harness/standing-service.ts";
import { createSvcCli } from "../harness/svc-cli.ts";

let service: StandingService;
let key: string;
beforeAll(async () => {
  service = await startStandingService();
  key = await service.key();
});

/** A directory of documents, a knowledge base, and a client whose way to the service can be disturbed. */
async function openDesk(files: Readonly<Record<string, string>>) {
  const proxy = await startLossyProxy(service.url);
  const kbId = await service.knowledgeBase();
  const directory = temporaryDirectory(onTestFinished);
  const write = (path: string, content: string): void => {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    writeFileSync(join(directory, path), content);
  };
  for (const [path, content] of Object.entries(files)) write(path, content);
  const svc = createSvcCli({ SVC_URL: proxy.url, SVC_API_KEY: key });
  const args = ["kb", "upload", directory, "--kb-id", kbId, "--json"];
  return {
    proxy,
    kbId,
    directory,
    write,
    svc,
    args,
    journal: () =>
      join(svc.home, ".local/state/svc/uploads", readdirSync(join(svc.home, ".local/state/svc/uploads"))[0] ?? ""),
    /** Source path and status of every record. */
    async records(): Promise<string[]> {
      const { body } = await service.call("GET", `/api/knowledge/databases/${kbId}/documents?limit=500`);
      return body.files
        .map((file: { source_path: string; status: string }) => `${file.source_path} ${file.status}`)
        .toSorted();
    },
  };
}

const FILES = Object.fromEntries(
  Array.from({ length: 7 }, (_none, index) => [`part/${index}.md`, `# ${index}\n\ntext\n`]),
);
const UPLOADED = Object.keys(FILES).map((path) => `${path} uploaded`);

test("a directory becomes records, with every file that is left out named", async () => {
  const desk = await openDesk({
    "a.md": "one",
    "copy of a.md": "one",
    'sub/"quoted" 100% 文档.md': "two",
    "sub/deep/c.TXT": "three",
    "empty.md": "",
    "other.xyz": "?",
    "left.html": "<p>",
    ".hidden.md": "h",
    ".git/x.md": "h",
  });
  symlinkSync("/etc/hostname", join(desk.directory, "link.md"));
  const plan = await desk.svc.run([...desk.args, "--dry-run", "--exclude-ext", "html"]);
  expect(plan).toMatchObject({ code: 0, json: { scanned: 10, to_upload: [{ path: "a.md" }, {}, {}, {}] } });
  expect(await desk.records()).toEqual([]);

  const done = await desk.svc.run([...desk.args, "--exclude-ext", "html"]);
  expect(done.stderr).toContain("nothing is parsed or indexed yet");
  expect(done).toMatchObject({
    code: 0,
    json: { scanned: 10, already_there: 1, uploaded: 3, added: 3, failed: [], bytes: 11 },
  });
  expect(done.json.skipped).toEqual([
    { path: ".git", reason: "hidden" },
    { path: ".hidden.md", reason: "hidden" },
    { path: "empty.md", reason: "empty" },
    { path: "left.html", reason: "excluded" },
    { path: "link.md", reason: "link" },
    { path: "other.xyz", reason: "unsupported_type" },
  ]);
  const records = await desk.records();
  expect(records).toHaveLength(3);
  expect(records).toEqual(expect.arrayContaining(['sub/"quoted" 100% 文档.md uploaded', "sub/deep/c.TXT uploaded"]));
  expect(readFileSync(desk.journal(), "utf8")).not.toContain(key);

  // Again nothing is sent; a file that changed is uploaded anew; one that was only touched is not.
  const before = desk.proxy.asked.length;
  expect((await desk.svc.run(desk.args)).json).toMatchObject({ added: 1, already_there: 4 });
  expect(desk.proxy.asked.slice(before).filter((call) => call.includes("/files/upload"))).toHaveLength(1);
  desk.write("sub/deep/c.TXT", "changed");
  utimesSync(join(desk.directory, "a.md"), 1, 1);
  expect((await desk.svc.run(desk.args)).json).toMatchObject({ uploaded: 1, added: 1, already_there: 4 });
  // A record that was deleted is there again.
  const { body } = await service.call("GET", `/api/knowledge/databases/${desk.kbId}/documents?query=left`);
  await service.call("DELETE", `/api/knowledge/databases/${desk.kbId}/documents/${body.files[0].file_id}`);
  expect((await desk.svc.run(desk.args)).json).toMatchObject({ uploaded: 1, added: 1, already_there: 4 });
});

describe("killed in mid-upload and run again, no file is added twice and none is missing", () => {
  const uploads = (method: string, path: string): boolean => method === "POST" && path.includes("/files/upload");
  const adds = (method: string, path: string): boolean => method === "POST" && path.endsWith("/documents/add");
  /** @param nth - of the calls of its kind */
  const nth = (matches: typeof uploads, which: number, handling: Handling) => {
    let count = 0;
    return (method: string, path: string): Handling => {
      if (!matches(method, path)) return "pass";
      count += 1;
      return count >= which ? handling : "pass";
    };
  };

  test.each([
    { at: "a file that is half sent", handling: nth(uploads, 3, "stall"), reached: uploads, times: 4 },
    { at: "a file that is sent, before its answer", handling: nth(uploads, 2, "hold"), reached: uploads, times: 3 },
    { at: "records that are added, before the answer", handling: nth(adds, 1, "hold"), reached: adds, times: 1 },
  ])("$at", async ({ handling, reached, times }) => {
    const desk = await openDesk({ ...FILES, "part/2big.md": `# big\n\n${"word ".repeat(2_000_000)}` });
    desk.proxy.decide(handling);
    const first = desk.svc.start([...desk.args, "--concurrency", "2"]);
    await waitFor("the call that is disturbed", () => {
      const calls = desk.proxy.asked.filter((call) => reached(...splitCall(call)));
      return calls.length >= times ? true : undefined;
    });
    // An answer that is held back was given: the records exist already.
    if (reached === adds)
      await waitFor("the records", async () => ((await desk.records()).length === 8 ? true : undefined));
    first.kill("SIGKILL");
    expect((await first.ended).code).toBeUndefined();
    desk.proxy.decide(() => "pass");
    const second = await desk.svc.run(desk.args);
    expect(second).toMatchObject({ code: 0, json: { failed: [] } });
    expect(await desk.records()).toEqual([...UPLOADED, "part/2big.md uploaded"].toSorted());
  });

  test("records whose adding never arrived, and bytes that are gone meanwhile", async () => {
    const desk = await openDesk(FILES);
    desk.proxy.decide((method, path) => (adds(method, path) ? "stall" : "pass"));
    const first = desk.svc.start(desk.args);
    await waitFor("the call", () => (desk.proxy.asked.some((call) => adds(...splitCall(call))) ? true : undefined));
    first.kill("SIGKILL");
    await first.ended;
    desk.proxy.decide(() => "pass");
    expect(await desk.records()).toEqual([]);
    // As if one of the objects were swept; the last line is torn.
    const journal = readFileSync(desk.journal(), "utf8").replaceAll(
      /kb:\/\/[^"]+\/3\.md/g,
      `kb://${desk.kbId}/${crypto.randomUUID()}/3.md`,
    );
    writeFileSync(desk.journal(), `${journal}{"path":"part/5.md","si`);
    expect(await desk.svc.run(desk.args)).toMatchObject({ code: 0, json: { added: 7, uploaded: 1, failed: [] } });
    expect(await desk.records()).toEqual(UPLOADED);
  });
});

describe("records are added once, also by a call whose answer is lost or that arrives late", () => {
  const isAdd = (call: string): boolean => call.startsWith("POST ") && call.endsWith("/documents/add");
  const firstAdd = (handling: Handling) => {
    let isDone = false;
    return (method: string, path: string): Handling => {
      if (isDone || !isAdd(`${method} ${path}`)) return "pass";
      isDone = true;
      return handling;
    };
  };

  test("the connection is cut after the records are there", async () => {
    const desk = await openDesk(FILES);
    desk.proxy.decide(firstAdd("cut"));
    expect(await desk.svc.run(desk.args)).toMatchObject({ code: 0, json: { added: 7, uploaded: 7 } });
    expect(desk.proxy.asked.filter(isAdd)).toHaveLength(2);
    expect(await desk.records()).toEqual(UPLOADED);
  });

  test("the call arrives after it was made again", async () => {
    const desk = await openDesk(FILES);
    desk.proxy.decide(firstAdd("late"));
    expect(await desk.svc.run(desk.args)).toMatchObject({ code: 0, json: { added: 7, uploaded: 7 } });
    expect(await desk.proxy.deliverLate()).toEqual([200]);
    expect(await desk.records()).toEqual(UPLOADED);
  });

  test("the call arrives after its sender was killed and another run has added the same", async () => {
    const desk = await openDesk(FILES);
    desk.proxy.decide((method, path) => (isAdd(`${method} ${path}`) ? "late" : "pass"));
    const first = desk.svc.start(desk.args);
    await waitFor("the call", () => (desk.proxy.asked.some(isAdd) ? true : undefined));
    first.kill("SIGKILL");
    await first.ended;
    desk.proxy.decide(() => "pass");
    expect(await desk.svc.run(desk.args)).toMatchObject({ code: 0, json: { added: 7, uploaded: 0 } });
    const late = await desk.proxy.deliverLate();
    expect(late.length).toBeGreaterThan(0);
    expect(new Set(late)).toEqual(new Set([200]));
    expect(await desk.records()).toEqual(UPLOADED);
  });
});

test("Ctrl-C ends it with 130 and prints how to go on; two at once are refused", async () => {
  const desk = await openDesk(FILES);
  desk.proxy.decide((_method, path) => (path.includes("/files/upload") ? "stall" : "pass"));
  const first = desk.svc.start(desk.args);
  await waitFor("an upload", () =>
    desk.proxy.asked.some((call) => call.includes("/files/upload")) ? true : undefined,
  );
  expect(await desk.svc.run(desk.args)).toMatchObject({ code: 1, json: { error: { code: "upload_running" } } });
  first.kill("SIGINT");
  expect(await first.ended).toMatchObject({ code: 130, stderr: expect.stringContaining("the same command goes on") });
  desk.proxy.decide(() => "pass");
  expect((await desk.svc.run(desk.args)).json).toMatchObject({ added: 7 });
  expect(await desk.records()).toEqual(UPLOADED);
});

test("a user who may not upload is refused before anything is read, by exit code", async () => {
  const desk = await openDesk({ "a.md": "one" });
  const env = { SVC_API_KEY: await service.key({ username: "reader", role: "user" }) };
  expect(await desk.svc.run(desk.args, { env })).toMatchObject({
    code: 4,
    json: { error: { code: "manage_required" } },
  });
  expect((await desk.svc.run(["kb", "upload", desk.directory, "--kb-id", "kb_none"])).code).toBe(5);
  expect((await desk.svc.run(["kb", "upload", "/nowhere", "--kb-id", desk.kbId])).code).toBe(2);
  expect((await desk.svc.run(["kb", "upload", desk.directory])).code).toBe(2);
  expect(desk.proxy.asked.filter((call) => call.includes("/files/upload"))).toEqual([]);
});

function splitCall(call: string): [string, string] {
  const [method = "", path = ""] = call.split(" ");
  return [method, path];
}
