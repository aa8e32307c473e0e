import { createContext, runInContext } from "node:vm";
import { build } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { answering, makeTurn, sendTurn } from "./made-turn.ts";

/** What a browser bundles of the client. */
let code = "";
let packages: string[] = [];
let imports: unknown[] = [];

beforeAll(async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/turnd/client/index.ts"],
    bundle: true,
    platform: "browser",
    format: "iife",
    globalName: "turnd",
    minify: true,
    write: false,
    metafile: true,
  });
  code = outputFiles[0]?.text ?? "";
  const names = Object.keys(metafile.inputs).flatMap(
    (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? [],
  );
  packages = [...new Set(names)].toSorted();
  imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
});

test("what a browser loads of the client is below 210 kB, and names nothing of Node", () => {
  expect(packages).toEqual(["eventsource-parser", "zod"]);
  expect(imports).toEqual([]);
  // `import { z }` would bring all of zod: src/turnd/protocol and src/turnd/client import it as a namespace.
  expect(code.length).toBeLessThan(210_000);
  expect(code).not.toMatch(/\bnode:[a-z]|\brequire\(|\bBuffer\.|\bprocess\.(env|stdout|nextTick)/);
});

test("with the globals of a browser alone, a turn is followed by a relative address", async () => {
  const lines = makeTurn(["é", "漢字"]);
  const baseUrl = await answering((request, response) => sendTurn(lines, request, response));
  const page = `${baseUrl}/inspector/index.html`;
  const globals = {
    AbortController,
    AbortSignal,
    ReadableStream,
    Response,
    TextDecoder,
    TextEncoder,
    URL,
    atob,
    btoa,
    clearTimeout,
    crypto,
    performance,
    setTimeout,
    location: new URL(page),
    fetch: (url: string, init: RequestInit) => fetch(new URL(url, page), init),
    seen: new Array<string>(),
  };
  const context = createContext(globals);
  runInContext(code, context);
  const isProved: unknown = await runInContext(
    `(async () => {
      const client = turnd.createTurndClient({ baseUrl: "" });
      const following = client.follow("turn-1");
      for await (const event of following) seen.push(event.type);
      turnd.TurnRequest.parse({ executor: "cli-b", input: "x" });
      return following.isProved;
    })()`,
    context,
  );
  expect(isProved).toBe(true);
  expect(globals.seen).toEqual(["message", "message", "turn.ended"]);
});
