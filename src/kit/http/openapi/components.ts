import { Document, SCHEMAS, type JsonSchema, type Schemas } from "./document.ts";

const INPUT = "Input";

/**
 * Keeps the schemas that something refers to, under one name each.
 *
 * The type provider writes each schema in two forms: `X` as it is sent, and `XInput` as it is accepted, where fields with
 * defaults are optional. Where only one form is used, or both are the same, it is `X`. Where both are used and differ, both
 * stay, with both names.
 */
export function nameOnce(document: Document): Document {
  const { schemas } = document.components;
  const used = reachableFrom(document.paths, schemas);
  const accepted = [...used].filter((name) => isInputForm(name, schemas) && used.has(shortOf(name)));

  // Two forms that differ only in what they refer to are one form if those are: repeat until nothing changes.
  let both = new Set<string>();
  for (;;) {
    const nameOf = namer(schemas, both);
    const text = (name: string): string => JSON.stringify(mapRefs(schemas[name], nameOf));
    const found = new Set(accepted.map(shortOf).filter((name) => text(name) !== text(`${name}${INPUT}`)));
    if (found.size === both.size) break;
    both = found;
  }

  const nameOf = namer(schemas, both);
  const kept = [...used].toSorted().map((name): [string, unknown] => [nameOf(name), mapRefs(schemas[name], nameOf)]);
  return Document.parse({
    ...document,
    paths: mapRefs(document.paths, nameOf),
    components: { ...document.components, schemas: Object.fromEntries(kept) },
  });
}

/** A schema may itself be called `…Input`: then its name without that is no schema. */
function isInputForm(name: string, schemas: Schemas): boolean {
  return name.endsWith(INPUT) && shortOf(name) in schemas;
}

function shortOf(name: string): string {
  return name.slice(0, -INPUT.length);
}

function namer(schemas: Schemas, both: ReadonlySet<string>): (name: string) => string {
  return (name) => (isInputForm(name, schemas) && !both.has(shortOf(name)) ? shortOf(name) : name);
}

function reachableFrom(root: unknown, schemas: Readonly<Record<string, JsonSchema>>): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    mapRefs(value, (name) => {
      if (!found.has(name)) {
        found.add(name);
        visit(schemas[name]);
      }
      return name;
    });
  };
  visit(root);
  return found;
}

function mapRefs(value: unknown, nameOf: (name: string) => string): unknown {
  return JSON.parse(JSON.stringify(value ?? null), (key, entry: unknown) =>
    key === "$ref" && typeof entry === "string" && entry.startsWith(SCHEMAS)
      ? `${SCHEMAS}${nameOf(entry.slice(SCHEMAS.length))}`
      : entry,
  );
}
