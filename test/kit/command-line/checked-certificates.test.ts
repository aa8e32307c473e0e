import { execa } from "execa";
import { createServer } from "node:http";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { describeIgnoredSwitch, keepCertificatesChecked } from "../../../src/kit/command-line/checked-certificates.ts";
import { makeAuthority, serveTls } from "../../harness/private-authority.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";

const MODULE = join(import.meta.dirname, "../../../src/kit/command-line/checked-certificates.ts");

/** The ways in which turnd and the service ask others: spans; models and fetched pages; objects. */
const PROGRAM = `
  import https from "node:https";
  import { request } from "undici";
  if (process.argv[2] === "checked") (await import(process.argv[3])).keepCertificatesChecked(process.env);
  const url = process.argv[1];
  const ways = {
    https: () => new Promise((done, fail) => https.get(url, (answer) => done(answer.resume())).on("error", fail)),
    undici: async () => (await request(url)).body.dump(),
    fetch: async () => (await fetch(url)).text(),
  };
  const found = {};
  for (const [name, ask] of Object.entries(ways)) found[name] = await ask().then(() => "sent", () => "refused");
  console.log(JSON.stringify(found));
`;

test("with NODE_TLS_REJECT_UNAUTHORIZED=0 a process sends nothing to whoever answers once it keeps them checked", async () => {
  const server = createServer((_, response) => response.writeHead(200, { connection: "close" }).end("{}"));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const front = await serveTls(makeAuthority(temporaryDirectory(onTestFinished)), address.port);
  onTestFinished(() => front.close());
  const ask = async (how: string): Promise<unknown> => {
    const args = ["--input-type=module", "--eval", PROGRAM, "--", `https://127.0.0.1:${front.port}/`, how, MODULE];
    const { stdout } = await execa(process.execPath, args, { env: { NODE_TLS_REJECT_UNAUTHORIZED: "0" } });
    return JSON.parse(stdout);
  };
  expect(await ask("as-given")).toEqual({ https: "sent", undici: "sent", fetch: "sent" });
  expect(await ask("checked")).toEqual({ https: "refused", undici: "refused", fetch: "refused" });
});

test("what was given is handed on, and told of where it would have switched the check off", () => {
  const own: Record<string, string | undefined> = { NODE_TLS_REJECT_UNAUTHORIZED: "0", OTHER: "1" };
  const given = keepCertificatesChecked(own);
  expect(own).toEqual({ OTHER: "1" });
  expect(given).toEqual({ NODE_TLS_REJECT_UNAUTHORIZED: "0", OTHER: "1" });
  expect(describeIgnoredSwitch(given)).toEqual([expect.stringContaining("NODE_TLS_REJECT_UNAUTHORIZED is ignored")]);
  expect(describeIgnoredSwitch({ NODE_TLS_REJECT_UNAUTHORIZED: "1" })).toEqual([]);
});
