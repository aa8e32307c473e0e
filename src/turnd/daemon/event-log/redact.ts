/** What stands where a secret stood. */
export const MASK = "[redacted]";

/** Shorter values would mask ordinary words. */
const MIN_SECRET_CHARACTERS = 6;

/** Text that was cut to a bounded length ends in this; what stands before it may be the beginning of a secret. */
const CUT = "…";

/** Takes secrets out of a text; hands back the very text where there is none in it. */
export type Redact = (text: string) => string;

/**
 * Makes a function that takes secrets out of a text.
 *
 * A value is found plain and as JSON and URLs escape it, nested once more too, as a tool's output quotes it; and where a
 * cut has left only its beginning. What is found in a text is found in its JSON as well, so that the JSON of a value can
 * be asked whether there is anything to take out. To take it out of JSON, and leave JSON, is `redact-json.ts`'s.
 * @param secrets - values that must not leave the daemon; empty and very short ones are skipped
 */
export function createRedactor(secrets: Iterable<string>): Redact {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length < MIN_SECRET_CHARACTERS) continue;
    for (const form of formsOf(secret)) forms.add(form);
  }
  // Longest first: one secret may be part of another.
  const longestFirst = [...forms].toSorted((a, b) => b.length - a.length);
  return (line) =>
    maskCut(
      longestFirst.reduce((text, form) => (text.includes(form) ? text.replaceAll(form, MASK) : text), line),
      longestFirst,
    );
}

/** Takes secrets out of a text that may have been cut anywhere, with nothing that shows it. */
export function redactCut(text: string, redact: Redact): string {
  const marked = text + CUT;
  const masked = redact(marked);
  return masked === marked ? text : masked.slice(0, -CUT.length);
}

/**
 * Makes a function that says how many of a text's last characters may be the beginning of a secret, in any of its forms.
 *
 * A text that is logged in pieces keeps these back, so that no secret stands in two of them.
 */
export function createHoldBack(secrets: Iterable<string>): (text: string) => number {
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length >= MIN_SECRET_CHARACTERS) for (const form of formsOf(secret)) forms.add(form);
  }
  return (text) => {
    let held = 0;
    for (const form of forms) {
      for (let length = Math.min(form.length - 1, text.length); length > held; length -= 1) {
        if (text.endsWith(form.slice(0, length))) held = length;
      }
    }
    return held;
  };
}

/** How a secret is written: in text, in JSON, in JSON within JSON, and one level deeper each. Mostly all are the same. */
function formsOf(secret: string): string[] {
  const once = escape(secret);
  const twice = escape(once);
  const forms = [
    secret,
    once,
    twice,
    ...NEEDLESS.map(([signs, escaped]) => once.replaceAll(signs, escaped)),
    encodeUri(secret),
  ];
  return [...forms, ...forms.map(escape)];
}

const toUnicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Some programs escape what JSON need not: PHP the slash, Go what HTML would read, Python and .NET all beyond ASCII. */
const NEEDLESS: readonly (readonly [RegExp, (unit: string) => string])[] = [
  [/\//g, () => "\\/"],
  [/[<>&]/g, toUnicodeEscape],
  [/[^ -~]/g, toUnicodeEscape],
  [/[^ -~]|[<>&'+`]/g, (unit) => toUnicodeEscape(unit).toUpperCase().replace("U", "u")],
];

function escape(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function encodeUri(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function maskCut(text: string, secrets: readonly string[]): string {
  if (!text.includes(CUT)) return text;
  let masked = "";
  let from = 0;
  for (const { start, end } of secrets.flatMap((form) => findHeads(text, form)).toSorted((a, b) => a.start - b.start)) {
    // Part of a longer one.
    if (start < from) continue;
    masked += text.slice(from, start) + MASK;
    from = end;
  }
  return from === 0 ? text : masked + text.slice(from);
}

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Where a secret's beginning stands right before a cut. Goes by the beginnings: a program can print any number of cuts. */
function findHeads(text: string, form: string): Span[] {
  const head = form.slice(0, MIN_SECRET_CHARACTERS);
  const heads: Span[] = [];
  for (let start = text.indexOf(head); start !== -1; start = text.indexOf(head, start + 1)) {
    let end = start + head.length;
    while (end - start < form.length && text[end] !== CUT && text[end] === form[end - start]) end += 1;
    if (text[end] === CUT) heads.push({ start, end });
  }
  return heads;
}
