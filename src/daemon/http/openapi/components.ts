import { z } from "zod";

const Json = z.record(z.string(), z.unknown());
type Json = z.infer<typeof Json>;

/** An OpenAPI document, as far as it is rearranged here. */
const ApiDocument = z.looseObject({
  openapi: z.string(),
  info: Json,
  paths: Json,
  components: z.looseObject({ schemas: Json }),
});
export type ApiDocument = z.infer<typeof ApiDocument>;

const REF = "#/components/schemas/";
const INPUT = "Input";

/**
 * Names every wire schema once.
 *
 * The type provider writes each schema in two forms: `X` as turnd sends it, and `XInput` as turnd accepts it, where
 * fields with defaults are optional. Only the form that the routes use is kept, under the name `X`. Where both are used
 * and differ, both stay, with both names.
 */
export function nameOnce(document: unknown): ApiDocument {
  const api = ApiDocument.parse(document);
  const { schemas } = api.components;
  const used = reachableFrom(api.paths, schemas);
  const ids = Object.keys(schemas).filter((id) => `${id}${INPUT}` in schemas);
  const needsBoth = (id: string): boolean => used.has(id) && used.has(`${id}${INPUT}`);

  // Two forms that differ only in what they refer to are one form if those are: repeat until nothing changes.
  let both = new Set<string>();
  for (;;) {
    const found = new Set(ids.filter((id) => needsBoth(id) && !isSame(schemas[id], schemas[`${id}${INPUT}`], both)));
    if (found.size === both.size) break;
    both = found;
  }

  const renamed = rename(schemas, (id) => shortName(id, both));
  const kept: Json = {};
  for (const id of ids) {
    const isSent = used.has(id) || !used.has(`${id}${INPUT}`);
    kept[id] = renamed[isSent ? id : `${id}${INPUT}`];
    if (both.has(id)) kept[`${id}${INPUT}`] = renamed[`${id}${INPUT}`];
  }
  const paths = rename(api.paths, (id) => shortName(id, both));
  return { ...api, paths, components: { ...api.components, schemas: kept } };
}

function shortName(id: string, both: ReadonlySet<string>): string {
  const short = id.endsWith(INPUT) ? id.slice(0, -INPUT.length) : id;
  return both.has(short) ? id : short;
}

function isSame(sent: unknown, accepted: unknown, both: ReadonlySet<string>): boolean {
  const text = (value: unknown): string => JSON.stringify(mapRefs(value, (id) => shortName(id, both)));
  return text(sent) === text(accepted);
}

function rename(value: Json, name: (id: string) => string): Json {
  return Json.parse(mapRefs(value, name));
}

function mapRefs(value: unknown, name: (id: string) => string): unknown {
  return JSON.parse(JSON.stringify(value), (key, entry: unknown) =>
    key === "$ref" && typeof entry === "string" && entry.startsWith(REF)
      ? `${REF}${name(entry.slice(REF.length))}`
      : entry,
  );
}

function reachableFrom(root: unknown, schemas: Json): Set<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    mapRefs(value, (id) => {
      if (!found.has(id)) {
        found.add(id);
        visit(schemas[id] ?? null);
      }
      return id;
    });
  };
  visit(root);
  return found;
}
