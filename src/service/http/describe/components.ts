import { Document, type JsonSchema } from "./schema.ts";

const PREFIX = "#/components/schemas/";

/**
 * Keeps the schemas that something refers to, under one name each.
 *
 * Every schema with an id is there twice, as it is read (`XInput`) and as it is written (`X`): where only one of them is used,
 * or both are the same, it is `X`.
 */
export function tidySchemas(document: Document): Document {
  const { schemas } = document.components;
  const used = reachable(document.paths, schemas);
  const names = new Map<string, string>();
  for (const name of used) {
    const short = name.replace(/Input$/, "");
    const isAlone = !used.has(short) || bare(schemas[name]) === bare(schemas[short]);
    names.set(name, isAlone ? short : name);
  }
  const rename = (text: string): string =>
    text.replaceAll(/"#\/components\/schemas\/([^"]+)"/g, (_, name: string) =>
      JSON.stringify(PREFIX + (names.get(name) ?? name)),
    );
  const kept = [...used].toSorted().map((name): [string, JsonSchema] => [names.get(name) ?? name, schemas[name] ?? {}]);
  const tidied = { ...document, components: { ...document.components, schemas: Object.fromEntries(kept) } };
  return Document.parse(JSON.parse(rename(JSON.stringify(tidied))));
}

function reachable(from: unknown, schemas: Readonly<Record<string, JsonSchema>>): Set<string> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    for (const [, name = ""] of JSON.stringify(value ?? null).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (found.has(name)) continue;
      found.add(name);
      look(schemas[name]);
    }
  };
  look(from);
  return found;
}

/** A schema without the difference that the names of those it refers to make. */
function bare(schema: JsonSchema | undefined): string {
  return JSON.stringify(schema ?? null).replaceAll(/(#\/components\/schemas\/[^"]+?)Input"/g, '$1"');
}
