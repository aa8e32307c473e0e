import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { z } from "zod";
import { createEmbedder } from "../../../../src/service/knowledge/models/embed.ts";
import { startWebServer } from "../../harness/web-server.ts";

const OPENAI = join(import.meta.dirname, "../../../pins/node_modules/openai/index.mjs");

interface Client {
  readonly embeddings: {
    create(body: { model: string; input: string[]; encoding_format: "float" }): Promise<unknown>;
  };
}
type ClientClass = new (options: { apiKey: string; baseURL: string; maxRetries: number }) => Client;
const Module = z.looseObject({ default: z.custom<ClientClass>((value) => typeof value === "function") });
const Answer = z.looseObject({ data: z.array(z.looseObject({ embedding: z.array(z.number()) })) });

test("texts are embedded by the request that OpenAI's own client sends, and its answer is read alike", async () => {
  const server = await startWebServer((received, response) => {
    const { input } = z.looseObject({ input: z.array(z.string()) }).parse(JSON.parse(received.body));
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: [text.length, 0.5] }));
    const usage = { prompt_tokens: 8, total_tokens: 8 };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data, model: "m-1", usage }));
  });
  const baseURL = `${server.url}/v1`;
  const input = ["a wing", "Hitze 翼"];
  const { default: OpenAi } = Module.parse(await import(pathToFileURL(OPENAI).href));
  const client = new OpenAi({ apiKey: "a-key", baseURL, maxRetries: 0 });
  const theirs = Answer.parse(await client.embeddings.create({ model: "m-1", input, encoding_format: "float" }));
  const embedder = createEmbedder({ baseUrl: baseURL, key: "a-key", models: ["m-1"], batch: 64 });
  const ours = await embedder.embed("m-1", input, new AbortController().signal);

  expect(ours.vectors.map((vector) => [...vector])).toEqual(theirs.data.map(({ embedding }) => embedding));
  const [expected, service] = server.received.map(({ method, url, body, headers }) => ({
    method,
    url,
    body: z.json().parse(JSON.parse(body)),
    authorization: headers.authorization,
    type: headers["content-type"],
  }));
  expect(server.received).toHaveLength(2);
  expect(service).toEqual(expected);
});
