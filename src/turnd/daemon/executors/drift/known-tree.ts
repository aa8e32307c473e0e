import { isObject, joinPath, readField, type Fields } from "./shapes.ts";
import type { KindFields, KnownFields, KnownShapes } from "../contract/records.ts";

/** Looks for the known fields of a record. */
export interface KnownTree {
  /** Calls `report` with the path of every field that is not known. @returns false for a kind of record that is not known */
  findUnknown(record: Fields, report: (path: string) => void): boolean;
}

/** Makes what is known quick to look up; every record of every turn is. */
export function createKnownTree({ kinds }: KnownShapes, { typeField = "type", refinedBy }: KindFields): KnownTree {
  // By type, then by the type of the refining field: putting a name together for each record would cost more than this.
  const byType = new Map<unknown, Map<unknown, Tree>>();
  for (const [kind, fields] of Object.entries(kinds)) {
    const [type, inner] = kind.split("/");
    byType.set(type, (byType.get(type) ?? new Map<unknown, Tree>()).set(inner, toTree(fields)));
  }
  return {
    findUnknown(record, report) {
      const part = refinedBy === undefined ? undefined : record[refinedBy];
      const tree = byType.get(record[typeField])?.get(isObject(part) ? part["type"] : undefined);
      if (tree !== undefined) compare(record, tree, report);
      return tree !== undefined;
    },
  };
}

/** A field and what is known to be below it. */
interface Tree {
  readonly path: string;
  readonly fields: Map<string, Tree>;
  /** What the elements of a list or the values of a map are known to be. */
  each: Tree | undefined;
  isOpen: boolean;
  isMap: boolean;
  /** Nothing is known below: a text or a number, most of all fields. */
  isLeaf: boolean;
}

function toTree(known: KnownFields): Tree {
  const root = createTree("");
  for (const [path, text] of Object.entries(known)) {
    let tree = root;
    for (const key of path.replaceAll("[]", ".[]").split(".")) {
      const isEach = key === "[]" || key === "*";
      const inner = (isEach ? tree.each : tree.fields.get(key)) ?? createTree(joinPath(tree.path, key));
      if (isEach) tree.each = inner;
      else tree.fields.set(key, inner);
      tree.isLeaf = false;
      tree = inner;
    }
    ({ isOpen: tree.isOpen, isMap: tree.isMap } = readField(text));
  }
  return root;
}

function createTree(path: string): Tree {
  return { path, fields: new Map(), each: undefined, isOpen: false, isMap: false, isLeaf: true };
}

/**
 * Goes only where the tree goes, so no record leads it deeper than a known one. This runs for every record: a value is
 * looked at only where fields are known below it, and no name is put together before there is something to report.
 */
function compare(value: Fields, tree: Tree, report: (path: string) => void): void {
  if (Array.isArray(value)) {
    for (const element of value as readonly unknown[]) {
      if (!isObject(element)) continue;
      if (tree.each === undefined) report(joinPath(tree.path, "[]"));
      else if (!tree.each.isOpen) compare(element, tree.each, report);
    }
    return;
  }
  for (const key in value) {
    const known = tree.isMap ? tree.each : tree.fields.get(key);
    if (known === undefined) {
      report(joinPath(tree.path, key));
    } else if (!known.isLeaf && !known.isOpen) {
      const inner = value[key];
      if (isObject(inner)) compare(inner, known, report);
    }
  }
}
