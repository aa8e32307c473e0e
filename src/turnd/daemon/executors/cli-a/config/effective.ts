import type { EffectiveSetting } from "../../../../protocol/index.ts";
import { isSecretName } from "../../secrets/secret-names.ts";
import { secretsIn, secretsInArguments } from "../../secrets/secret-values.ts";
import { CliAConfig } from "./details.ts";

/** Shown in place of a secret. */
export const MASK = "***";

/** What people may put secrets into under any name is not shown, whatever it is; how long a connection lasts is. */
const HIDDEN_PATH = /(?:^|\.)(?:headers|environment)\.(?!connection$)[^.]+$/i;
/** A reference to a variable or file is no secret, what it stands for is. */
const REFERENCE = /^\{(?:env|file):[^}]*\}$/;
const USER_INFO = /(?<=:\/\/)[^/@\s]+(?=@)/;
const ENV_REFERENCE = /\{env:([^}]+)\}/g;

/** A configuration for people, and the values in it that must not be shown. */
export interface ShownSetting {
  readonly settings: EffectiveSetting[];
  /** Values that must not stand anywhere. */
  readonly secrets: string[];
  /** Variables that stand where a secret does. */
  readonly secretVariables: string[];
}

/** Flattens a configuration to dotted keys, secrets masked. */
export function showConfig(config: CliAConfig, origin: (key: string) => string): ShownSetting {
  const shown: ShownSetting = { settings: [], secrets: [], secretVariables: [] };
  show(config, { key: "", name: "" }, shown, origin);
  return shown;
}

/** Where a value stands; `name` is the last part of `key`, which may have dots of its own. */
interface Place {
  readonly key: string;
  readonly name: string;
}

function show(value: unknown, place: Place, shown: ShownSetting, origin: (key: string) => string): void {
  const { key } = place;
  const table = CliAConfig.safeParse(value);
  if (table.success) {
    for (const [name, inner] of Object.entries(table.data)) {
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
  if (Array.isArray(value)) return value.map((entry) => mask(entry, place, shown));
  const isHidden = HIDDEN_PATH.test(place.key) || isSecretName(place.name);
  if (typeof value !== "string") return isHidden && value !== null ? MASK : value;
  if (isSecretName(place.name)) {
    for (const [, variable] of value.matchAll(ENV_REFERENCE)) if (variable) shown.secretVariables.push(variable);
  }
  if (REFERENCE.test(value)) return value;
  shown.secrets.push(...secretsIn(place.name, value));
  if (isHidden) return MASK;
  return shown.secrets.reduce((text, secret) => text.replaceAll(secret, () => MASK), value.replace(USER_INFO, MASK));
}
