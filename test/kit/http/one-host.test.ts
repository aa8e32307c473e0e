import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { requireOneHost } from "../../../src/kit/http/one-host.ts";

async function ask(port: number, lines: readonly string[]): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.end([...lines, "Connection: close", "", ""].join("\r\n"));
  return text(socket);
}

test("a request with more than one Host is answered 400, whatever they are and wherever it goes", async () => {
  const app = fastify();
  requireOneHost(app, "a_code");
  app.get("/", async () => "answered");
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  const port = Number(new URL(app.listeningOrigin).port);
  expect(await ask(port, ["GET / HTTP/1.1", "Host: localhost", "X: Host", "Y: host"])).toContain("answered");
  for (const [first, ...more] of [
    ["Host: localhost", "Host: localhost"],
    ["Host: localhost", "hOST: evil.example"],
    ["Host: evil.example", "Host: localhost", "Host: localhost"],
  ]) {
    for (const path of ["/", "/nothing"]) {
      const answer = await ask(port, [`GET ${path} HTTP/1.1`, first ?? "", "Accept: */*", ...more]);
      expect(answer).toMatch(/^HTTP\/1\.1 400 /);
      expect(answer).toContain('{"detail":{"code":"a_code","message":"send one Host header');
      expect(answer).not.toContain("answered");
    }
  }
});
