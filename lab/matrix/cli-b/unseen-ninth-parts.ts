import type { FailureCode } from "../../../src/turnd/protocol/index.ts";
import type { CliBCase } from "./case.ts";
import { answer, page, text, type Reply } from "./replies.ts";

export const DONE = answer(text("Done."));
export const FIRST = [answer(text("First."))] as const;

/** A provider that does one thing whatever it is asked. */
export function fails(
  name: string,
  code: FailureCode,
  why: string,
  reply: Reply,
  { label, ...more }: Omit<Partial<CliBCase>, "label"> & { readonly label?: Partial<CliBCase["label"]> } = {},
): CliBCase {
  return { replies: [reply], ...more, name, label: { status: "failed", code, why, ...label } };
}

/** A turn that comes to its end. */
export function works(
  name: string,
  why: string,
  replies: readonly Reply[],
  { label, ...more }: Omit<Partial<CliBCase>, "label"> & { readonly label?: Partial<CliBCase["label"]> } = {},
): CliBCase {
  return { replies, ...more, name, label: { status: "completed", text: "Done.", why, ...label } };
}

/** A refusal with a maker's own body. */
export const body = (status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply =>
  typeof value === "string"
    ? page(status, value, { "content-type": "text/html", ...headers })
    : page(status, JSON.stringify(value), { "content-type": "application/json", ...headers });

/** Words right behind the command. */
export const insert =
  (...words: readonly string[]) =>
  (args: readonly string[]): readonly string[] => [...args.slice(0, 1), ...words, ...args.slice(1)];

/** Other words in place of the last. */
export const endWith =
  (...words: readonly string[]) =>
  (args: readonly string[]): readonly string[] => [...args.slice(0, -1), ...words];
