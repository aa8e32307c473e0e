import type { EffectiveSetting } from "../../../../protocol/index.ts";
import { isSecretName } from "../../secrets/secret-names.ts";
import { secretsIn, secretsInArguments } from "../../secrets/secret-values.ts";
import { asTable, type TomlTable } from "./toml.ts";

/** Shown in place of a secret. */
export const MASK = "***";

/** What people may put secrets into under any name is not shown, whatever it is. */
const HIDDEN_PATH = /(?:^|\.)(?:http_headers|query_params|env|set)\.[^.]+$/;
/** A variable's name is no secret. */
const NAME_OF_VARIABLE = /(?:env_key|env_var)(?:_instructions)?$|(?:^|\.)env_http_headers\./i;
const USER_INFO = /(?<=:\/\/)[^/@\s]+(?=@)/;

/** A configuration for people, and the values in it that must not be shown. */
export interface ShownSetting {
  readonly settings: EffectiveSetting[];
  readonly secrets: string[];
}

/** Flattens a configuration to dotted keys, secrets masked. */
export function showConfig(table: TomlTable, origin: (key: string) => string): ShownSetting {
  const shown: ShownSetting = { settings: [], secrets: [] };
  show(table, { key: "", name: "" }, shown, origin);
  return shown;
}

/** Where a value stands; `name` is the last part of `key`, which may have dots of its own. */
interface Place {
  readonly key: string;
  readonly name: string;
}

function show(value: unknown, place: Place, shown: ShownSetting, origin: (key: string) => string): void {
  const { key } = place;
  const isTree = Array.isArray(value)
    ? value.some((entry) => typeof entry === "object")
    : typeof value === "object" && value !== null && !(value instanceof Date);
  if (isTree) {
    const entries = Array.isArray(value) ? value.entries() : Object.entries(asTable(value));
    for (const [entry, inner] of entries) {
      const name = String(entry);
      show(inner, { key: key === "" ? name : `${key}.${name}`, name }, shown, origin);
    }
    return;
  }
  if (Array.isArray(value)) {
    shown.secrets.push(...secretsInArguments(value.filter((entry) => typeof entry === "string")));
  }
  shown.settings.push({ key, value: mask(value, place, shown), origin: origin(key) });
}

function mask(value: unknown, place: Place, shown: ShownSetting): unknown {
  const { key, name } = place;
  const isSecret = isSecretName(name) && !NAME_OF_VARIABLE.test(key);
  const isHidden = (HIDDEN_PATH.test(key) || isSecret) && !NAME_OF_VARIABLE.test(key);
  if (Array.isArray(value)) return value.map((entry) => mask(entry, place, shown));
  if (typeof value === "string") {
    shown.secrets.push(...secretsIn(isSecret ? name : "", value));
    if (isHidden) return MASK;
    return shown.secrets.reduce((text, secret) => text.replaceAll(secret, () => MASK), value.replace(USER_INFO, MASK));
  }
  if (isHidden) return MASK;
  if (typeof value === "bigint") return String(value);
  return value instanceof Date ? value.toISOString() : value;
}
