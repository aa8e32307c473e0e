import type { EffectiveSetting } from "../../../protocol/index.ts";
import { asTable, type TomlTable } from "./toml.ts";

/** Shown in place of a secret. */
export const MASK = "***";

/** Settings that hold secrets by their nature, or by their name; a variable's name is none. */
const SECRET_PATH =
  /(?:^|\.)(?:http_headers|query_params|env|set)\.[^.]+$|(?:token|secret|password|authorization|api_?key|credential)[^.]*$/i;
const NAME_OF_VARIABLE = /(?:env_key|env_var)(?:_instructions)?$|(?:^|\.)env_http_headers\./i;
/** Shorter values are words that turn up everywhere. */
const MIN_SECRET_CHARACTERS = 8;
const USER_INFO = /(?<=:\/\/)[^/@\s]+(?=@)/;

/** A configuration for people, and the values in it that must not be shown. */
export interface Shown {
  readonly settings: EffectiveSetting[];
  readonly secrets: string[];
}

/** Flattens a configuration to dotted keys, secrets masked. */
export function showConfig(table: TomlTable, origin: (key: string) => string): Shown {
  const shown: Shown = { settings: [], secrets: [] };
  show(table, "", shown, origin);
  return shown;
}

function show(value: unknown, key: string, shown: Shown, origin: (key: string) => string): void {
  const isTree = Array.isArray(value)
    ? value.some((entry) => typeof entry === "object")
    : typeof value === "object" && value !== null && !(value instanceof Date);
  if (isTree) {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(asTable(value));
    for (const [name, inner] of entries) {
      show(inner, key === "" ? String(name) : `${key}.${name}`, shown, origin);
    }
    return;
  }
  shown.settings.push({ key, value: mask(value, key, shown.secrets), origin: origin(key) });
}

function mask(value: unknown, key: string, secrets: string[]): unknown {
  const isSecret = SECRET_PATH.test(key) && !NAME_OF_VARIABLE.test(key);
  if (Array.isArray(value)) return value.map((entry) => mask(entry, key, secrets));
  if (typeof value === "string") {
    const hidden = isSecret ? value : USER_INFO.exec(value)?.[0];
    if (hidden === undefined) return value;
    if (hidden.length >= MIN_SECRET_CHARACTERS) secrets.push(hidden);
    return value.replace(hidden, MASK);
  }
  if (isSecret) return MASK;
  if (typeof value === "bigint") return String(value);
  return value instanceof Date ? value.toISOString() : value;
}
