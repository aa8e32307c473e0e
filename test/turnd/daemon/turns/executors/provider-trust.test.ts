import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cliB } from "../../../../../src/turnd/daemon/executors/cli-b/adapter.ts";
import {
  createProviderCheck,
  type ProviderState,
} from "../../../../../src/turnd/daemon/turns/executors/provider-check.ts";
import { makeAuthority, serveTls } from "../../../../harness/private-authority.ts";
import { temporaryDirectory } from "../../../../harness/temporary.ts";

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

/** A provider whose certificate a private authority has signed. */
async function startProvider() {
  const directory = temporaryDirectory(onTestFinished);
  const authority = makeAuthority(directory);
  const asked: string[] = [];
  const port = await listen(
    createServer((request, response) => {
      asked.push(request.headers.authorization ?? "");
      response.writeHead(400, { connection: "close" }).end("{}");
    }),
  );
  const front = await serveTls(authority, port);
  onTestFinished(() => front.close());
  return { directory, authority, asked, port: front.port };
}

/** What CLI B's provider is found to be. */
async function ask(url: string, env: Record<string, string>): Promise<ProviderState> {
  const configured = cliB.configure({
    env: { CLI_B_API_KEY: "key", CLI_B_MODEL: "m", CLI_B_BASE_URL: url },
    cliName: "codex",
  });
  if (!configured.ok) throw new Error(configured.errors.join("; "));
  const request = cliB.providerRequest?.(configured.configuration);
  if (request === undefined) throw new Error("no request");
  return createProviderCheck({ request, env, now: () => new Date(), timeoutMs: 60_000 }).ask();
}

test("the certificates that CLI B is told of are believed, and no others", async () => {
  const { directory, authority, asked, port } = await startProvider();
  const url = `https://127.0.0.1:${port}`;
  for (const env of [
    { SSL_CERT_FILE: authority.file },
    { SSL_CERT_DIR: `${directory}/authorities:${authority.directory}` },
    { CODEX_CA_CERTIFICATE: authority.file },
  ]) {
    expect(await ask(url, env)).toMatchObject({ api: "present" });
  }
  expect(asked).toEqual(["Bearer key", "Bearer key", "Bearer key"]);
  // CLI B does not read that one.
  for (const env of [{}, { NODE_EXTRA_CA_CERTS: authority.file }]) {
    const { api, fault } = await ask(url, env);
    expect(api).toBe("unproven");
    expect(fault).toContain("its certificate is not believed, UNABLE_TO_VERIFY_LEAF_SIGNATURE");
    expect(fault).toContain("none of CODEX_CA_CERTIFICATE, SSL_CERT_FILE, SSL_CERT_DIR");
  }
  expect(asked.length).toBe(3);
});

test("a variable that names no certificate is told of where the provider's is not believed", async () => {
  const { directory, authority, port } = await startProvider();
  const url = `https://127.0.0.1:${port}`;
  const text = join(directory, "text");
  writeFileSync(text, "no certificate");
  const faultOf = async (env: Record<string, string>): Promise<string | undefined> => (await ask(url, env)).fault;
  expect(await faultOf({ SSL_CERT_FILE: join(directory, "gone") })).toContain(
    "what SSL_CERT_FILE names cannot be read (ENOENT)",
  );
  expect(await faultOf({ CODEX_CA_CERTIFICATE: directory })).toContain("CODEX_CA_CERTIFICATE names cannot be read");
  expect(await faultOf({ CODEX_CA_CERTIFICATE: text })).toContain("CODEX_CA_CERTIFICATE names no certificate in PEM");
  // Another that does is enough.
  expect(await faultOf({ CODEX_CA_CERTIFICATE: text, SSL_CERT_FILE: authority.file })).toBeUndefined();
});

test("the key is not handed to whoever answers, although NODE_TLS_REJECT_UNAUTHORIZED is 0 for turnd", async () => {
  const { asked, port } = await startProvider();
  const before = process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
  onTestFinished(() => {
    if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
    else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
  });
  process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
  expect((await ask(`https://127.0.0.1:${port}`, {})).fault).toContain("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  expect(asked).toEqual([]);
});

test("ALL_PROXY counts where no proxy is set for the protocol, as CLI B takes it", async () => {
  const { authority, port } = await startProvider();
  const wanted: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, client) => {
    wanted.push(request.url ?? "");
    const server = connect(port, "127.0.0.1", () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      server.pipe(client);
      client.pipe(server);
    });
    for (const one of [client, server]) one.on("error", () => client.destroy());
  });
  const address = `http://127.0.0.1:${await listen(proxy)}`;
  const believed = { SSL_CERT_FILE: authority.file };
  for (const name of ["ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"]) {
    expect(await ask("https://provider.test", { ...believed, [name]: address })).toMatchObject({ api: "present" });
  }
  const elsewhere = { ALL_PROXY: "http://127.0.0.1:9", HTTPS_PROXY: address };
  expect(await ask("https://provider.test", { ...believed, ...elsewhere })).toMatchObject({ api: "present" });
  expect(wanted).toEqual(Array(5).fill("provider.test:443"));
});

test.each(["ALL_PROXY", "HTTPS_PROXY"])(
  "where %s is of a kind that turnd cannot use nothing is sent past it, and a host of NO_PROXY is asked",
  async (name) => {
    const { authority, asked, port } = await startProvider();
    const env = { SSL_CERT_FILE: authority.file, [name]: "socks5://127.0.0.1:9" };
    const url = `https://127.0.0.1:${port}`;
    expect(await ask(url, { ...env, NO_PROXY: "other.test" })).toMatchObject({
      api: "unproven",
      fault: expect.stringContaining(`turnd cannot use the kind of proxy that ${name} names`),
    });
    expect(asked).toEqual([]);
    expect(await ask(url, { ...env, NO_PROXY: "other.test, 127.0.0.1" })).toMatchObject({ api: "present" });
    expect(asked.length).toBe(1);
  },
);
