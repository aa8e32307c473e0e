/** Wherever in a name they stand, what is so called is a secret. */
const SECRET_WORD =
  /^(?:\w*(?:password|passwd|passphrase|secrets?|tokens?|apikeys?|accesskeys?|secretkeys?|privatekeys?|credentials?|authorization|cookies?)|pwd|creds?|jwt|bearer)$/;
/** Only as the last word, or before one that distinguishes which: `DEPLOY_KEY`, `AUTH_PROD`. */
const WEAK_WORD = /^(?:keys?|auth|pass|passcode|pat|otp|psk|sig|signature)$/;
/** Together with the word before, a key whatever follows: `API_KEY_OPENAI`. */
const KEY_KIND = /^(?:api|access|secret|private|signing|encryption|master|account|service|license|auth|deploy)$/;
const TELLS_APART =
  /^(?:\d+|[a-z]|prod|production|staging|dev|development|test|main|default|old|new|current|primary|secondary|value|base64|b64|hex|pem|json)$/;
/** What is so called describes a secret, and is none. */
const DESCRIPTION = new Set(
  (
    "path file filename dir directory folder location url uri endpoint host hostname port name names id ids type kind format " +
    "algorithm alg size length len bytes bits count counts limit limits max min ttl timeout expiry expires expiration " +
    "ms seconds minutes hours age header headers prefix suffix env var variable variables enabled disabled enable disable " +
    "mode version provider scope scopes field column store storage manager ring policy helper command cmd script usage " +
    "domain audience issuer instructions method methods required allowed budget index rotation cache bindings binding " +
    "strategy style position class"
  ).split(" "),
);
/** A key that is known to all, no key at all, or the name of a variable that holds one. */
const NO_SECRET_BEFORE =
  /^(?:public|publishable|pub|env|primary|foreign|sort|partition|cache|group|grouping|routing|shard|idempotency|leader)$/;
const QUANTITY = /^(?:max|min|maximum|minimum|num|number|count|total|limit|budget|reserved|used|remaining)$/;

/**
 * Whether a setting, variable or header is called as a secret is: `OPENAI_API_KEY`, `x-api-key`, `clientSecret`.
 *
 * Names that describe one are not: `TOKEN_FILE`, `MAX_TOKENS`, `PUBLIC_KEY`, `env_key`, `TOKENIZER`, `author`.
 */
export function isSecretName(name: string): boolean {
  const words = wordsOf(name);
  if (DESCRIPTION.has(words.at(-1) ?? "")) return false;
  return words.some((word, index) => {
    const before = words[index - 1] ?? "";
    if (NO_SECRET_BEFORE.test(before)) return false;
    if (/^tokens?$/.test(word) && words.some((other) => QUANTITY.test(other))) return false;
    if (SECRET_WORD.test(word)) return true;
    if (!WEAK_WORD.test(word)) return false;
    const isKey = word === "key" && KEY_KIND.test(before);
    return isKey || words.slice(index + 1).every((after) => TELLS_APART.test(after));
  });
}

/** Whether it is called as what a person thinks up: only digits can be that, and can be no other secret. */
export function isPasswordName(name: string): boolean {
  return wordsOf(name).some((word) => /(?:password|passwd|passphrase|passcode|secret)$|^(?:pwd|pass)$/.test(word));
}

export function isCookieName(name: string): boolean {
  return wordsOf(name).some((word) => /cookies?$/.test(word));
}

/** `camelCase`, `kebab-case`, `SNAKE_CASE` and `dotted.names` in their words, digits at a word's end apart. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, "$1 $2")
    .replaceAll(/([A-Za-z]{3,})(\d+)(?![A-Za-z\d])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z\d]+/)
    .filter((word) => word !== "");
}
