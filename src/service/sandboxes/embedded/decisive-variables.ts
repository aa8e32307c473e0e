type Environment = Readonly<Record<string, string | undefined>>;

/** Families of turnd, its CLIs, its spans and the proxies, which are read in both cases. */
const FAMILIES = /^(?:CLI_|TURND_|OTEL_|LC_)|^(?:ALL|HTTPS?|NO)_PROXY$/i;

/** What else turnd reads or passes on without its being named; test/service/sandboxes/embedded compares it with turnd's own list. */
const OTHERS =
  /^(?:SSL_CERT_(?:FILE|DIR)|CODEX_CA_CERTIFICATE|NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|NODE_USE_ENV_PROXY|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|GIT_SSL_CAINFO|PIP_CERT|AWS_CA_BUNDLE|LANG|LANGUAGE|TZ)$/;

/** Holds a key where none has its own variable. */
const KEY = /_(?:API_KEY|TOKEN)$/;

/**
 * The variables that decide what a turnd and its CLIs do, sorted; others, such as those of a terminal, may differ at every
 * start.
 */
export function decisiveVariables(env: Environment): [name: string, value: string][] {
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  // What these name is read, or passed on: a key's variable, one of TURND_PASS_ENV, a placeholder in a configuration.
  const naming = given.filter(([name]) => FAMILIES.test(name)).map(([, value]) => value);
  const named = new Set(naming.flatMap((value) => value.match(/\w+/g) ?? []));
  return given
    .filter(([name]) => FAMILIES.test(name) || OTHERS.test(name) || KEY.test(name) || named.has(name))
    .toSorted(([left], [right]) => (left < right ? -1 : 1));
}
