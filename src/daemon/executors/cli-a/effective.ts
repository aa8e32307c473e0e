import type { EffectiveSetting } from "../../../protocol/index.ts";
import { CliAConfig } from "./details.ts";

/** Shown in place of a secret. */
export const MASK = "***";

/** Settings that hold secrets by their nature, or by their name. */
const SECRET_PATH =
  /(?:^|\.)(?:headers|environment)\.[^.]+$|(?:token|secret|password|authorization|api_?key|credential)[^.]*$/i;
/** Numbers of tokens, not tokens; and how long a connection lasts. */
const NO_SECRET_PATH = /(?:max|budget|limit)[^.]*tokens?$|headers\.connection$/i;
/** A reference to a variable or file is no secret, what it stands for is. */
const REFERENCE = /^\{(?:env|file):[^}]*\}$/;
const USER_INFO = /(?<=:\/\/)[^/@\s]+(?=@)/;
/** Shorter values are words that turn up everywhere. */
const MIN_SECRET_CHARACTERS = 8;

/** A configuration for people, and the values in it that must not be shown. */
export interface Shown {
  readonly settings: EffectiveSetting[];
  readonly secrets: string[];
}

/** Flattens a configuration to dotted keys, secrets masked. */
export function showConfig(config: CliAConfig, origin: (key: string) => string): Shown {
  const shown: Shown = { settings: [], secrets: [] };
  show(config, "", shown, origin);
  return shown;
}

/** Whether a value is worth hiding wherever it turns up. */
export function isHideable(value: string): boolean {
  return value.length >= MIN_SECRET_CHARACTERS;
}

function show(value: unknown, key: string, shown: Shown, origin: (key: string) => string): void {
  const table = CliAConfig.safeParse(value);
  if (table.success) {
    for (const [name, inner] of Object.entries(table.data)) {
      show(inner, key === "" ? name : `${key}.${name}`, shown, origin);
    }
    return;
  }
  shown.settings.push({ key, value: mask(value, key, shown.secrets), origin: origin(key) });
}

function mask(value: unknown, key: string, secrets: string[]): unknown {
  if (Array.isArray(value)) return value.map((entry) => mask(entry, key, secrets));
  const isSecret = SECRET_PATH.test(key) && !NO_SECRET_PATH.test(key);
  if (typeof value !== "string") return isSecret && value !== null ? MASK : value;
  const hidden = isSecret ? value : USER_INFO.exec(value)?.[0];
  if (hidden === undefined || REFERENCE.test(hidden)) return value;
  if (isHideable(hidden)) secrets.push(hidden);
  return value.replace(hidden, () => MASK);
}
