import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createOutbound } from "../../../../src/service/outbound/outbound.ts";
import { waitFor } from "../../../harness/wait-for.ts";
import { makePerson, openDesk } from "../../harness/knowledge.ts";
import { startNameServer } from "../../harness/name-server.ts";
import { freshStorage } from "../../harness/storage.ts";
import { startWebServer, type Received } from "../../harness/web-server.ts";

const PAGE = "<!doctype html><title>Wings</title><p>Panels flutter.</p>";

type Pages = Readonly<Record<string, (response: ServerResponse, received: Received) => void>>;

const html = (response: ServerResponse, body: string | Buffer = PAGE, type = "text/html; charset=utf-8"): void =>
  void response.writeHead(200, { "content-type": type }).end(body);

/**
 * A web server on loopback that answers for `page.test`, which alone may be private; no other address is dialled.
 *
 * @param names - further names, with what they resolve to, one list for each time they are asked
 */
async function openWeb(
  pages: Pages,
  names: Readonly<Record<string, string[][]>> = {},
  allow = ["*"],
  { timeoutMs, uploadsOfUser = 100 }: { timeoutMs: number; uploadsOfUser?: number } = { timeoutMs: 5_000 },
) {
  const lines: string[] = [];
  const server = await startWebServer((received, response) => {
    const answer = pages[new URL(received.url, "http://x").pathname];
    if (answer === undefined) response.writeHead(404).end();
    else answer(response, received);
  });
  const nameServer = await startNameServer({ "page.test": [["127.0.0.1"]], ...names });
  const desk = await openDesk(await freshStorage("postgres"), {
    outbound: createOutbound({ allow: ["page.test"], nameServers: [nameServer.address] }),
    fetchRules: { allow, ports: [80, 443, server.port], maxBytes: 100_000, timeoutMs },
    limits: { uploadsOfUser },
    logger: pino({ level: "trace" }, { write: (line: string) => void lines.push(line) }),
  });
  const fetchUrl = (url: string) => desk.ask("POST", "/api/knowledge/files/fetch-url", { url, kb_id: desk.kbId });
  return { desk, server, nameServer, lines, fetchUrl, at: (path: string) => `http://page.test:${server.port}${path}` };
}

test("a page becomes an upload, and goes on as one", async () => {
  const sjis = Buffer.concat([
    Buffer.from('<meta charset="shift_jis"><p>'),
    Buffer.from([0x93, 0xfa, 0x96, 0x7b, 0x8c, 0xea]),
  ]);
  const web = await openWeb({
    "/docs/a%20wing.html": (response) => html(response),
    "/from": (response) => void response.writeHead(301, { location: "/docs/a%20wing.html?q=1#part" }).end(),
    "/sjis": (response) => html(response, sjis, "text/html"),
    "/zipped": (response) =>
      void response
        .writeHead(200, { "content-type": "application/xhtml+xml", "content-encoding": "gzip" })
        .end(gzipSync(PAGE)),
  });
  const { body, status } = await web.fetchUrl(web.at("/from"));
  expect({ status, body }).toMatchObject({
    status: 200,
    body: {
      status: "success",
      filename: "page.test-docs-a wing.html",
      size: PAGE.length,
      final_url: web.at("/docs/a%20wing.html?q=1"),
      content_type: "text/html",
      has_same_name: false,
    },
  });
  expect(
    web.server.received.every(({ headers }) => headers.cookie === undefined && headers.referer === undefined),
  ).toBe(true);
  const added = await web.desk.ask("POST", `${web.desk.path}/documents/add`, { items: [body.file_path] });
  const id: string = added.body.items[0].file_id;
  expect(await web.desk.file(id)).toMatchObject({ source_url: body.final_url, file_type: "html", status: "uploaded" });
  expect((await web.desk.ask("GET", `${web.desk.path}/documents/${id}/download`)).body).toBe(PAGE);
  expect((await web.fetchUrl(web.at("/docs/a%20wing.html"))).body).toMatchObject({ has_same_name: true });
  expect((await web.fetchUrl(web.at("/zipped"))).body).toMatchObject({ size: PAGE.length });
  const { file_path: item } = (await web.fetchUrl(web.at("/sjis"))).body;
  const japanese = await web.desk.ask("POST", `${web.desk.path}/documents/add`, { items: [item] });
  const file = `${web.desk.path}/documents/${japanese.body.items[0].file_id}`;
  expect((await web.desk.ask("GET", `${file}/download`)).body).toContain("日本語");
});

test("what is not of the public internet is refused, however it is written, and nothing is dialled", async () => {
  const web = await openWeb(
    { "/": (response) => html(response) },
    {
      "inside.test": [["127.0.0.1"]],
      "mixed.test": [["8.8.8.8", "127.0.0.1"]],
      "metadata.test": [["169.254.169.254"]],
    },
  );
  const hosts = [
    "127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 0x7f.0.0.1 127.0.0.1. 0.0.0.0 0 10.0.0.1",
    "172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 224.0.0.1 255.255.255.255 [::1] [::]",
    "[::ffff:127.0.0.1] [::ffff:7f00:1] [::127.0.0.1] [64:ff9b::7f00:1] [2002:7f00:1::] [fe80::1]",
    "[fc00::1] [fd00:ec2::254] localhost localhost. LOCALHOST a.localhost a.localhost. inside.test",
    "mixed.test metadata.test １２７.0.0.1 127。0。0。1 ①②⑦.⓪.⓪.① 127.0.0.1.. localhost.. 168.63.129.16",
    "[0:0:0:0:0:ffff:a9fe:a9fe] [2001:0:7f00:1::] [64:ff9b:1::7f00:1] 192.0.0.192 100.100.100.200",
  ].flatMap((some) => some.split(" "));
  for (const host of hosts) {
    const answer = await web.fetchUrl(`http://${host}:${web.server.port}/`);
    expect(answer, host).toMatchObject({ status: 422, body: { detail: { code: "url_refused", reason: "address" } } });
    // The same words for all: nothing is learned of what is there.
    expect(answer.body.detail.message).toBe("the host is not one of the public internet");
  }
  expect(web.server.received).toEqual([]);
});

test("schemes, users, ports and hosts that are not allowed are refused", async () => {
  const web = await openWeb({ "/": (response) => html(response) }, {}, ["page.test", ".docs.test", "*.more.test"]);
  const port = web.server.port;
  const refusals = {
    malformed: ["nothing", "http://", "http://[::1", "http://256.256.256.256/"],
    scheme: ["file:///etc/passwd", "ftp://page.test/", "gopher://page.test/", "data:text/html,x", "javascript:x"],
    user_info: [`http://root@page.test:${port}/`, `http://root:pass@page.test:${port}/`, "http://page.test@127.0.0.1/"],
    port: ["http://page.test:22/", "http://page.test:6379/", "https://page.test:8443/"],
    host_not_allowed: ["http://other.test/", "http://page.test.other.test/", "http://docs.test/", "http://xdocs.test/"],
  };
  for (const [reason, urls] of Object.entries(refusals))
    for (const url of urls)
      expect((await web.fetchUrl(url)).body.detail, url).toMatchObject({ code: "url_refused", reason });
  expect(web.server.received).toEqual([]);
  expect((await web.fetchUrl(`http://PAGE.test.:${port}/`)).body.detail).toMatchObject({ reason: "address" });
  // Allowed by name, and then not known to the name server.
  for (const url of ["http://a.docs.test/", "http://a.b.more.test/"])
    expect((await web.fetchUrl(`${url}?token=hidden`)).body.detail).toMatchObject({
      code: "url_fetch_failed",
      reason: "dns",
    });
  expect(web.lines.join("")).toContain("a page was not fetched");
  expect(web.lines.filter((line) => line.includes("a page was not fetched")).join("")).not.toContain("hidden");
});

test("every redirect is looked at anew, and five are followed", async () => {
  const to = (location: string) => (response: ServerResponse) => void response.writeHead(302, { location }).end();
  const web = await openWeb(
    {
      "/": (response) => html(response),
      "/literal": to("http://127.0.0.1/"),
      "/name": to("http://inside.test/"),
      "/metadata": to("http://169.254.169.254/latest/meta-data/"),
      "/file": to("file:///etc/passwd"),
      "/user": to("http://root@page.test/"),
      "/port": to("http://page.test:22/"),
      "/loop": to("/loop"),
      "/5": to("/4"),
      "/4": to("/3"),
      "/3": to("/2"),
      "/2": to("/1"),
      "/1": to("/"),
      "/6": to("/5"),
    },
    { "inside.test": [["127.0.0.1"]] },
  );
  const reasons = {
    literal: "address",
    name: "address",
    metadata: "address",
    file: "scheme",
    user: "user_info",
    port: "port",
  };
  for (const [path, reason] of Object.entries(reasons))
    expect((await web.fetchUrl(web.at(`/${path}`))).body.detail, path).toMatchObject({ code: "url_refused", reason });
  expect(web.server.received).toHaveLength(6);
  expect((await web.fetchUrl(web.at("/loop"))).body.detail).toMatchObject({ reason: "too_many_redirects" });
  expect(web.server.received).toHaveLength(12);
  expect((await web.fetchUrl(web.at("/6"))).body.detail).toMatchObject({ reason: "too_many_redirects" });
  expect((await web.fetchUrl(web.at("/5"))).body).toMatchObject({ status: "success" });
});

test("the address that was checked is the one that is dialled", async () => {
  const web = await openWeb({ "/": (response) => html(response) }, { "page.test": [["127.0.0.1"], ["127.0.0.2"]] });
  expect((await web.fetchUrl(web.at("/"))).status).toBe(200);
  expect(web.nameServer.questions).toEqual(["page.test"]);
  // Asked anew it is where nothing listens: the answer before is not cached either.
  expect((await web.fetchUrl(web.at("/"))).body.detail).toMatchObject({ code: "url_fetch_failed", reason: "connect" });
});

test("an answer that is too large, too slow or no page is refused", async () => {
  const web = await openWeb({
    "/endless": (response) => {
      response.writeHead(200, { "content-type": "text/html" });
      const write = (): void => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", write);
      write();
    },
    "/bomb": (response) =>
      void response
        .writeHead(200, { "content-type": "text/html", "content-encoding": "gzip" })
        .end(gzipSync(Buffer.alloc(50_000_000, 32))),
    "/slow": (response) => void response.writeHead(200, { "content-type": "text/html" }).write("<p>"),
    "/drip": (response) => {
      response.writeHead(200, { "content-type": "text/html" });
      const timer = setInterval(() => response.write(" "), 50);
      response.on("close", () => clearInterval(timer));
    },
    "/header": (response) =>
      void response.writeHead(200, { "content-type": "text/html", "x-large": "x".repeat(100_000) }).end(PAGE),
    "/twice": (response) =>
      void response
        .writeHead(200, { "content-type": "text/html", "content-encoding": "gzip, gzip" })
        .end(gzipSync(gzipSync(PAGE))),
    "/json": (response) => html(response, "{}", "application/json"),
    "/untyped": (response) => void response.writeHead(200).end(PAGE),
    "/pdf": (response) => html(response, Buffer.from("%PDF-1.7\u0000\u0001")),
    "/empty": (response) => html(response, ""),
    "/nothing": (response) => void response.writeHead(204).end(),
    "/error": (response) => void response.writeHead(500, { "content-type": "text/html" }).end(PAGE),
  });
  const expected = {
    endless: { code: "url_refused", reason: "too_large" },
    bomb: { code: "url_refused", reason: "too_large" },
    slow: { code: "url_fetch_failed", reason: "timeout" },
    drip: { code: "url_fetch_failed", reason: "timeout" },
    header: { code: "url_fetch_failed", reason: "connect" },
    twice: { code: "url_refused", reason: "malformed" },
    json: { code: "url_refused", reason: "not_html" },
    untyped: { code: "url_refused", reason: "not_html" },
    pdf: { code: "url_refused", reason: "not_html" },
    empty: { code: "url_refused", reason: "not_html" },
    nothing: { code: "url_refused", reason: "not_html" },
    error: { code: "url_fetch_failed", reason: "status", status: 500 },
    missing: { code: "url_fetch_failed", reason: "status", status: 404 },
  };
  for (const [path, detail] of Object.entries(expected))
    expect((await web.fetchUrl(web.at(`/${path}`))).body.detail, path).toMatchObject(detail);
  const uploads = await web.desk.storage.db.selectFrom("knowledge_upload").selectAll().execute();
  expect(uploads).toEqual([]);
  const keys = [];
  for await (const { key } of web.desk.objects.list()) keys.push(key);
  expect(keys).toEqual([]);
});

test("a fetch that hangs ends with its caller, and its place is free", async () => {
  const held: ServerResponse[] = [];
  const web = await openWeb({ "/": (response) => void held.push(response) }, {}, ["*"], { timeoutMs: 3_600_000 });
  const { app, kbId, admin } = web.desk;
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  // As many as may be under way at once.
  const callers = [new AbortController(), new AbortController()];
  const asked = callers.map(({ signal }) =>
    fetch(`${url}/api/knowledge/files/fetch-url`, {
      method: "POST",
      headers: { authorization: `Bearer ${admin.token}`, "content-type": "application/json" },
      body: JSON.stringify({ url: web.at("/"), kb_id: kbId }),
      signal,
    }).catch((error: unknown) => error),
  );
  await waitFor("both fetches", () => held.length === 2);
  expect((await web.fetchUrl(web.at("/"))).body.detail).toMatchObject({ code: "too_many_uploads" });
  callers[0]?.abort();
  await waitFor("the end of its connection", () => held.some(({ destroyed }) => destroyed));
  expect((await web.desk.upload("a.md", "x")).status).toBe(200);
  // The service's own end does not wait for the other.
  await app.close();
  expect(held.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  await Promise.all(asked);
  expect(web.lines.filter((line) => line.includes("request failed"))).toEqual([]);
});

test("a user's silent pages leave another's place free", async () => {
  const held: ServerResponse[] = [];
  const slow = { timeoutMs: 3_600_000, uploadsOfUser: 1 };
  const web = await openWeb({ "/": (response) => void held.push(response) }, {}, ["*"], slow);
  const { app, kbId, admin, storage } = web.desk;
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  const hangUp = new AbortController();
  const silent = fetch(`${url}/api/knowledge/files/fetch-url`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin.token}`, "content-type": "application/json" },
    body: JSON.stringify({ url: web.at("/"), kb_id: kbId }),
    signal: hangUp.signal,
  }).catch((error: unknown) => error);
  await waitFor("the fetch", () => held.length === 1);
  const refused = { code: "too_many_uploads", message: "uploads of yours under way already: 1" };
  expect((await web.fetchUrl(web.at("/"))).body.detail).toMatchObject(refused);
  expect((await web.desk.upload("a.md", "x")).body.detail).toMatchObject(refused);
  const other = await makePerson(storage, "superadmin");
  expect((await web.desk.upload("a.md", "x", { token: other.token })).status).toBe(200);
  hangUp.abort();
  await silent;
});

test("without an allow-list nothing is fetched", async () => {
  const web = await openWeb({ "/": (response) => html(response) }, {}, []);
  expect(await web.fetchUrl(web.at("/"))).toMatchObject({
    status: 403,
    body: { detail: { code: "url_fetch_disabled" } },
  });
  expect(web.server.received).toEqual([]);
});
