import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { z } from "zod";
import { OPENAPI_PATH, renderOpenApi } from "../../../../scripts/generate/openapi.ts";
import * as protocol from "../../../../src/turnd/protocol/index.ts";
import { createTestApp } from "./test-app.ts";

const Document = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ responses: z.record(z.string(), z.unknown()) }))),
  components: z.looseObject({ schemas: z.record(z.string(), z.unknown()) }),
});

test("openapi.json is that of the sources; `node scripts/generate/openapi.ts` writes it", async () => {
  expect(readFileSync(OPENAPI_PATH, "utf8")).toBe(await renderOpenApi());
});

/** Schemas of routes that the description leaves out, since only turnd's own pages call them. */
const OF_PAGES = ["BrowserLogin", "BrowserHandOver", "BrowserSession", "BrowserState", "OutputHead", "OutputOrigin"];

test("every wire schema with an id is a component, once", async () => {
  const { components } = Document.parse(JSON.parse(await renderOpenApi()));
  const ids = Object.values(protocol).flatMap((value) => {
    const id = value instanceof z.ZodType ? z.globalRegistry.get(value)?.id : undefined;
    return id === undefined ? [] : [id];
  });
  expect(ids.length).toBeGreaterThan(20);
  const names = Object.keys(components.schemas);
  expect(names).toEqual(expect.arrayContaining(ids.filter((id) => !OF_PAGES.includes(id))));
  expect(names.filter((name) => OF_PAGES.includes(name))).toEqual([]);
  expect(new Set(ids).size).toBe(ids.length);
});

test("every reference leads to a component", async () => {
  const text = await renderOpenApi();
  const { components } = Document.parse(JSON.parse(text));
  const references = [...text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(([, id]) => id);
  expect(references.length).toBeGreaterThan(50);
  expect(references.filter((id) => id === undefined || !(id in components.schemas))).toEqual([]);
});

test("every route describes an answer and its refusals", async () => {
  const { paths } = Document.parse(JSON.parse(await renderOpenApi()));
  const routes = Object.values(paths).flatMap((methods) => Object.values(methods));
  expect(routes.length).toBeGreaterThan(14);
  for (const { responses } of routes) {
    expect(Object.keys(responses).some((status) => status.startsWith("2"))).toBe(true);
    expect(Object.keys(responses)).toEqual(expect.arrayContaining(["401", "403", "422", "500"]));
  }
});

test("the app serves the same document, also to its page", async () => {
  const { app } = await createTestApp();
  const document = Document.parse((await app.inject("/openapi.json")).json());
  expect(Document.parse((await app.inject("/docs/json")).json())).toEqual(document);
});

test("the page of the documentation is whole without any other host", async () => {
  const { app } = await createTestApp();
  for (const url of ["/docs", "/docs/", "/docs/static/swagger-initializer.js", "/docs/static/index.css"]) {
    const page = await app.inject(url);
    expect(page.statusCode).toBe(200);
    const withoutComments = page.body.replaceAll(/^\s*\/\/.*$/gm, "");
    expect(withoutComments).not.toMatch(/(?:https?:)?\/\/[a-z0-9-]+\.[a-z]/i);
  }
  const index = await app.inject("/docs");
  const assets = [...index.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset]) => asset ?? "");
  expect(assets.length).toBeGreaterThan(4);
  for (const asset of assets) expect((await app.inject(asset)).statusCode).toBe(200);
});

test("the browser may load the page's parts from here alone", async () => {
  const { app } = await createTestApp();
  for (const url of ["/docs", "/docs/static/swagger-ui-bundle.js"]) {
    const policy = (await app.inject(url)).headers["content-security-policy"];
    expect(policy).toMatch(/^default-src 'self'/);
    expect(policy).not.toMatch(/https?:|\*/);
  }
});
