import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { addressInHost, isPublicAddress } from "../../../src/service/outbound/address.ts";
import { createOutbound, type OutboundRequest } from "../../../src/service/outbound/outbound.ts";
import { startNameServer } from "../harness/name-server.ts";
import { startWebServer } from "../harness/web-server.ts";

/** Nothing in these tests may ask the machine's own name servers: port 9 of loopback does not answer. */
const UNUSED_PORT = "127.0.0.1:9";
const LIMITS = { timeoutMs: 20_000, maxBytes: 1_000 };

function outbound(allow: string[], nameServer = UNUSED_PORT) {
  const made = createOutbound({ allow, nameServers: [nameServer] });
  return (url: string, more: Partial<OutboundRequest> = {}) => made.fetch({ ...LIMITS, url, ...more });
}

describe("addresses", () => {
  test.each(["8.8.8.8", "1.1.1.1", "2606:4700::1111"])("%s is public", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each([
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "100.64.0.1",
    "169.254.169.254",
    "168.63.129.16",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:7f00:1::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "",
    "example",
  ])("%j is not public", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(["http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://[::ffff:7f00:1]/"])(
    "%s is seen to be loopback",
    (text) => {
      expect(isPublicAddress(addressInHost(new URL(text).hostname) ?? "8.8.8.8")).toBe(false);
    },
  );
});

test("an address that is not public is refused, however it is written, and nothing is dialled", async () => {
  const server = await startWebServer((_received, response) => response.end("secret"));
  const names = await startNameServer({
    "inside.test": [["127.0.0.1"]],
    "mixed.test": [["8.8.8.8", "127.0.0.1"]],
    "metadata.test": [["169.254.169.254"]],
  });
  const fetchUrl = outbound([], names.address);
  for (const host of [
    "127.0.0.1",
    "2130706433",
    "localhost",
    "a.localhost",
    "localhost.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "inside.test",
    "mixed.test",
    "metadata.test",
  ]) {
    await expect(fetchUrl(`http://${host}:${server.port}/`), host).rejects.toMatchObject({ reason: "address" });
  }
  expect(server.received).toEqual([]);
});

test("only http and https without a user are asked", async () => {
  const fetchUrl = outbound([]);
  await expect(fetchUrl("file:///etc/passwd")).rejects.toMatchObject({ reason: "scheme" });
  await expect(fetchUrl("ftp://example.test/")).rejects.toMatchObject({ reason: "scheme" });
  await expect(fetchUrl("http://root:pass@example.test/")).rejects.toMatchObject({ reason: "user_info" });
  await expect(fetchUrl("nothing")).rejects.toMatchObject({ reason: "malformed" });
});

test("an allowed host is reached by exactly its name, or its name and port", async () => {
  const server = await startWebServer((_received, response) => response.end("hello"));
  const names = await startNameServer({ "inside.test": [["127.0.0.1"]], "sub.inside.test": [["127.0.0.1"]] });
  const answer = await outbound(["inside.test"], names.address)(`http://inside.test:${server.port}/a`);
  expect({ ...answer, body: answer.body.toString() }).toMatchObject({ status: 200, body: "hello" });
  expect(server.received).toMatchObject([{ url: "/a", headers: { host: `inside.test:${server.port}` } }]);
  const byPort = outbound([`127.0.0.1:${server.port}`]);
  expect((await byPort(server.url)).status).toBe(200);
  await expect(byPort(`http://127.0.0.1:${server.port + 1}/`)).rejects.toMatchObject({ reason: "address" });
  await expect(
    outbound(["inside.test"], names.address)(`http://sub.inside.test:${server.port}/`),
  ).rejects.toMatchObject({ reason: "address" });
});

test("what was checked is what is dialled: a name is asked once a hop", async () => {
  const server = await startWebServer((_received, response) => response.end("hello"));
  // A second question would be answered by an address where nothing listens.
  const names = await startNameServer({ "rebind.test": [["127.0.0.1"], ["127.0.0.2"]] });
  const fetchUrl = outbound(["rebind.test"], names.address);
  expect((await fetchUrl(`http://rebind.test:${server.port}/`)).status).toBe(200);
  expect(names.questions).toEqual(["rebind.test"]);
  await expect(fetchUrl(`http://rebind.test:${server.port}/`)).rejects.toMatchObject({ reason: "connect" });
});

test("every redirect is checked anew, and takes no headers to another host", async () => {
  const target = await startWebServer((_received, response) => response.end("target"));
  const names = await startNameServer({ "a.test": [["127.0.0.1"]], "b.test": [["127.0.0.1"]] });
  const server = await startWebServer(({ url }, response) => {
    const to: Record<string, string> = {
      "/inside": `http://127.0.0.1:${target.port}/`,
      "/other": `http://b.test:${target.port}/x`,
      "/file": "file:///etc/passwd",
      "/loop": "/loop",
    };
    response.writeHead(302, { location: to[url] }).end("a body that is not read");
  });
  const fetchUrl = outbound(["a.test", "b.test"], names.address);
  const at = (path: string): string => `http://a.test:${server.port}${path}`;
  await expect(fetchUrl(at("/inside"), { maxRedirects: 5 })).rejects.toMatchObject({ reason: "address" });
  await expect(fetchUrl(at("/file"), { maxRedirects: 5 })).rejects.toMatchObject({ reason: "scheme" });
  expect(target.received).toEqual([]);
  const answer = await fetchUrl(at("/other"), { maxRedirects: 5, headers: { authorization: "Bearer x" } });
  expect(answer).toMatchObject({ status: 200, url: `http://b.test:${target.port}/x` });
  expect(server.received.at(-1)?.headers.authorization).toBe("Bearer x");
  expect(target.received[0]?.headers.authorization).toBeUndefined();
  const before = server.received.length;
  await expect(fetchUrl(at("/loop"), { maxRedirects: 5 })).rejects.toMatchObject({ reason: "too_many_redirects" });
  expect(server.received.length - before).toBe(6);
  expect((await fetchUrl(at("/loop"))).status).toBe(302);
  expect((await fetchUrl(at("/loop"), { method: "POST", body: "x", maxRedirects: 5 })).status).toBe(302);
});

test("a caller's rule holds for every hop", async () => {
  const server = await startWebServer((_received, response) => response.writeHead(302, { location: "/next" }).end());
  const seen: string[] = [];
  const check = (url: URL): void => {
    seen.push(url.pathname);
    if (url.pathname === "/next") throw new Error("not there");
  };
  await expect(outbound(["127.0.0.1"])(server.url, { maxRedirects: 5, check })).rejects.toThrow("not there");
  expect(seen).toEqual(["/", "/next"]);
  expect(server.received).toHaveLength(1);
});

test("an answer has a limit, counted after decoding", async () => {
  const server = await startWebServer(({ url }, response) => {
    if (url === "/gzip") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(100_000)));
    else if (url === "/small") response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("small"));
    else response.end(Buffer.alloc(url === "/fits" ? 1_000 : 1_001));
  });
  const fetchUrl = outbound(["127.0.0.1"]);
  await expect(fetchUrl(`${server.url}/big`)).rejects.toMatchObject({ reason: "too_large" });
  await expect(fetchUrl(`${server.url}/gzip`)).rejects.toMatchObject({ reason: "too_large" });
  expect((await fetchUrl(`${server.url}/fits`)).body).toHaveLength(1_000);
  expect((await fetchUrl(`${server.url}/small`)).body.toString()).toBe("small");
});

test("time is limited: for an answer that never begins, and for one that never ends", async () => {
  const server = await startWebServer(({ url }, response) => {
    if (url === "/drip") response.write("a");
  });
  const fetchUrl = outbound(["127.0.0.1"]);
  await expect(fetchUrl(server.url, { timeoutMs: 300 })).rejects.toMatchObject({ reason: "timeout" });
  await expect(fetchUrl(`${server.url}/drip`, { timeoutMs: 300 })).rejects.toMatchObject({ reason: "timeout" });
  const stop = new AbortController();
  const asked = fetchUrl(`${server.url}/drip`, { signal: stop.signal });
  stop.abort(new Error("stopped by the caller"));
  await expect(asked).rejects.toThrow("stopped by the caller");
});

test("a name that does not resolve and a port where nothing listens fail by name", async () => {
  const names = await startNameServer({ "closed.test": [["127.0.0.1"]] });
  const fetchUrl = outbound(["closed.test"], names.address);
  await expect(fetchUrl("http://unknown.test/")).rejects.toMatchObject({ reason: "dns" });
  await expect(fetchUrl("http://closed.test:9/")).rejects.toMatchObject({ reason: "connect" });
  const server = await startWebServer((_received, response) => response.end());
  await expect(fetchUrl(`https://closed.test:${server.port}/`)).rejects.toMatchObject({ reason: "tls" });
});
