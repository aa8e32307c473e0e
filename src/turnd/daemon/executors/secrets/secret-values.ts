import { isCookieName, isPasswordName, isSecretName } from "./secret-names.ts";

/** Shorter ones are words that turn up everywhere; with a letter and a digit in them, a little less will do. */
const MIN_CHARACTERS = 8;
const MIN_MIXED_CHARACTERS = 6;
/** A line of a key that is written over several. */
const MIN_LINE_CHARACTERS = 16;
/** No count, size or time has so many digits. */
const MIN_KEY_DIGITS = 16;

const NUMBER = /^[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/;
const PATH = /^(?:~|\.{1,2})?(?:\/[^/\n]*)+$|^[A-Za-z]:\\/;
/** What 30 random bytes are in base64: AWS's secret keys begin with `/` now and then. */
const KEY_LIKE_PATH = /^(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[A-Za-z\d+/]{40}$/;
const URL_ADDRESS = /^[a-z][a-z\d+.-]*:\/\/\S*$/i;
/** `{env:X}`, `${X}`, `$X`, `%X%`, `<your key>`, `***`: what it stands for is the secret. */
const REFERENCE = /^(?:\{[a-z]+:[^}]*\}|\$\{[^}]*\}|\$[A-Z_][A-Z\d_]*|%\w+%|<[^<>]*>|\*+)$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ][\d:.]+(?:Z|[-+][\d:]+)?)?$/;
/** The last ones are what servers that ask for no key have their users write in place of one. */
const WORD =
  /^(?:true|false|null|none|undefined|default|auto|automatic|enabled|disabled|required|optional|anonymous|inherit|keyring|keychain|password|bearer|basic|digest|negotiate|changeme|ollama|lm-?studio|dummy|empty|placeholder|unused|not-(?:needed|used|required)|(?:sk-)?no-key(?:-(?:needed|required))?)$/i;
const SCHEME = /^(?:Bearer|Basic|Token|Digest|Negotiate|ApiKey)\s+/i;

/** Keys that show what they are, wherever they stand. The groups are the secret where the match is not. */
const SHAPES: readonly RegExp[] = [
  /(?<![A-Za-z\d])(?:sk|rk)[-_][A-Za-z\d_-]{16,}/g,
  /(?<![A-Za-z\d])(?:gh[pousr]_[A-Za-z\d]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|npm_[A-Za-z\d]{30,}|pypi-[\w-]{32,})/g,
  /(?<![A-Za-z\d])(?:xox[a-z]-[\w-]{10,}|xapp-[\w-]{10,}|hf_[A-Za-z\d]{16,}|gsk_[A-Za-z\d]{16,}|xai-[\w-]{16,}|svkey_\w{8,})/g,
  /(?<![A-Za-z\d])(?:A(?:KIA|SIA)[A-Z\d]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|whsec_[\w+/=]{16,})/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /(?<![A-Za-z])Bearer\s+(?=\S*\d)([\w.~+/=-]{8,})/gi,
  /hooks\.slack\.com\/services\/([\w/]{16,})/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]+?-----END [A-Z ]*PRIVATE KEY-----/g,
];
const USER_INFO = /(?<![a-z\d+.-])[a-z][a-z\d+.-]*:\/\/([^\s/@:]*)(?::([^\s/@]*))?@/gi;
const QUERY = /[?&;]([\w.~-]+)=([^\s&#;"']+)/g;
/** `--api-key=…`, `TOKEN=…`, `Authorization: …` as an argument of its own. */
const ASSIGNMENT = /^-{0,2}([\w.-]+)(?:=|:\s+)(.*)$/s;
const FLAG = /^--?([\w-]+)$/;

/**
 * The secrets in a configured value: all of it where its name says so, otherwise what has the shape of a key, the password in
 * a URL, and what a URL's query calls a secret. Ordinary values (paths, numbers, plain addresses) are none, whatever their name.
 */
export function secretsIn(name: string, value: string): string[] {
  const text = value.trim();
  const named = isSecretName(name) ? namedSecrets(name, text) : [];
  return [...new Set([...named, ...shapedSecrets(text), ...urlSecrets(text)])].flatMap(withLines);
}

const HEADER_FLAG = /^(?:-H|--headers?)$/;
/** `mcp-remote` has headers written without a space, as some clients split arguments at it. */
const HEADER = /^([\w-]+):(.*)$/s;

/** The secrets among arguments: by the flag before them or in front of them, as well as by their shape. */
export function secretsInArguments(values: readonly string[]): string[] {
  const found = values.flatMap((value, index) => {
    const isHeader = HEADER_FLAG.test(values[index - 1] ?? "");
    const [, name, assigned] = (isHeader ? HEADER : ASSIGNMENT).exec(value) ?? [];
    if (name !== undefined && assigned !== undefined) return [...secretsIn(name, assigned), ...secretsIn("", value)];
    const flag = FLAG.exec(values[index - 1] ?? "")?.[1];
    return FLAG.test(value) ? [] : secretsIn(flag ?? "", value);
  });
  return [...new Set(found)];
}

/** The secrets in an environment, by the names and the shapes of its variables. */
export function secretsInEnvironment(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : secretsIn(name, value)));
}

/** Whether a value is what settings ordinarily are, so that hiding it wherever it turns up would hide something else. */
export function isOrdinary(text: string): boolean {
  if (NUMBER.test(text)) return text.length < MIN_KEY_DIGITS;
  if (PATH.test(text)) return !KEY_LIKE_PATH.test(text);
  return [URL_ADDRESS, REFERENCE, DATE, WORD].some((pattern) => pattern.test(text));
}

/** Whether it is a word that stands where a key would, such as `ollama`: known to all, and in many a path and name. */
export function isPlaceholder(text: string): boolean {
  return WORD.test(text);
}

function namedSecrets(name: string, text: string): string[] {
  if (isCookieName(name) && text.includes("=")) {
    return text
      .split(";")
      .map((pair) => pair.slice(pair.indexOf("=") + 1).trim())
      .filter((part) => isHideable(part));
  }
  const credential = text.replace(SCHEME, "");
  const isPin = isPasswordName(name) && NUMBER.test(credential) && credential.length >= MIN_MIXED_CHARACTERS;
  if (!isPin && !isHideable(credential)) return [];
  return /^Basic\s/i.test(text) ? [credential, ...passwordIn(credential)] : [credential];
}

function isHideable(text: string): boolean {
  const isMixed = /\d/.test(text) && /[A-Za-z]/.test(text);
  return text.length >= (isMixed ? MIN_MIXED_CHARACTERS : MIN_CHARACTERS) && !isOrdinary(text);
}

function passwordIn(basic: string): string[] {
  const decoded = Buffer.from(basic, "base64").toString("utf8");
  const password = decoded.slice(decoded.indexOf(":") + 1);
  return decoded.includes(":") && isHideable(password) ? [password] : [];
}

function shapedSecrets(text: string): string[] {
  return SHAPES.flatMap((shape) => [...text.matchAll(shape)].map(([match, group]) => group ?? match)).filter(
    (secret) => !isOrdinary(secret),
  );
}

function urlSecrets(text: string): string[] {
  const users = [...text.matchAll(USER_INFO)].flatMap(([, user = "", password]) => {
    const hidden = password ?? user;
    // A user's name without a password is a secret only where it can be a token.
    const isToken = password !== undefined || /\d/.test(hidden);
    return isToken && isHideable(hidden) ? [hidden] : [];
  });
  const parameters = [...text.matchAll(QUERY)].flatMap(([, name = "", value = ""]) =>
    isSecretName(name) && isHideable(value) ? [value] : [],
  );
  return [...users, ...parameters].flatMap((secret) => [secret, decode(secret)]);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No percent-encoding: it stands for itself.
    return text;
  }
}

/** A key of several lines is printed line by line, too. */
function withLines(secret: string): string[] {
  if (!secret.includes("\n")) return [secret];
  const lines = secret.split("\n").map((line) => line.trim());
  return [secret, ...lines.filter((line) => line.length >= MIN_LINE_CHARACTERS && !line.startsWith("-----"))];
}
