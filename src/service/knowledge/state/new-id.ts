import { v7 as uuid7 } from "uuid";

/** A new id of a knowledge base or file: it sorts by time. */
export function newId(kind: "kb" | "file"): string {
  return `${kind}_${uuid7().replaceAll("-", "")}`;
}
