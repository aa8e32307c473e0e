/**
 * What a refusal is about, where neither status, code nor a known sentence says so: the nouns of its prose.
 *
 * A provider that speaks of an invoice wants to be paid, in whatever sentence. Names of fields do not count: what stands in
 * quotation marks, is part of a path or of a compound is no prose. Sentences about the form of a request are left alone.
 */

/** A word of prose, letter case aside. */
const noun = (words: string): string => `(?<![\\w'"\`.\\[/-])(?:${words})(?![\\w'"\`\\]-])`;
const within = (first: string, second: string, characters = 60): string =>
  `${first}.{0,${characters}}${second}|${second}.{0,${characters}}${first}`;

/** How a request has to be formed. */
const FORM =
  /\b(?:required property|is required|are required|missing required|must be (?:of type|an?|one)\b|not of type|expected an? |valid value|field required|schema|duplicate|unrecognized|could not parse|unexpected (?:field|property|argument))\b|^(?:invalid|unknown|unsupported|missing) ['"`]/;

/** A text about a subject, and not about the form of a request or something else. */
function about(subject: string, unless?: string): RegExp {
  const other = unless === undefined ? FORM.source : `${FORM.source}|${unless}`;
  return new RegExp(`^(?![^]*?(?:${other}))(?=[^]*?(?:${subject}))`, "i");
}

const NOT =
  "\\b(?:no|not|none|cannot|unable|unknown|unavailable|unlisted|withdrawn|denied|only|one of|no longer|any ?more|gone|archived?|switched off|retired|deleted|removed)\\b|n't\\b";
const LONG =
  "\\b(?:too (?:long|large|big|many)|longer|larger|over|above|beyond|past|exceed\\w*|only|allowed|available|limit|ceiling|maximum|at most|window|fit|capacity)\\b";
/** What else has a limit. */
const OTHER_LIMITS =
  "\\bmax_(?:output_|completion_)?tokens\\b|\\bmax(?:imum)? tokens (?:you|value|must)\\b|\\b(?:output|completion|answer|reasoning) tokens\\b|\\bper[ -](?:second|sec|minute|min|hour|day)\\b|\\b[RT]P[MSD]\\b|\\b(?:at least|minimum|needs|requires|images?|pixels|files?|audio|tools?|stop|metadata|name)\\b";

/** What is paid with, and for. */
const MONEY = noun(
  "wallet|invoices?|billing|prepaid|payments?|unpaid|paid|owe[ds]?|credits?|balance|funds|quota|included usage|usage-based|spending|trial|subscriptions?|subscribe|recharge|top[- ]up|overdue|arrears|allowance|free tier|open amount|purchase|money|paying|(?<!(?:thinking|reasoning|token) )budget(?! tokens)",
);
const MODEL = within(noun("models?|deployments?|engine|snapshot|checkpoint"), `(?:${NOT})`);
const NO_MODEL =
  "\\b(?:support\\w*|accepts?|messages?|input|parameters?|arguments?|images?|tools?|stream(?:s|ing)?\\b(?! disconnected)|formats?|outputs?|effort|tokens?|context|load(?:ed|ing)?|busy|ready|right now|moment|overload\\w*|responses?|answers?|empty|blank|temperature)\\b";
/** What is shown to be let in. */
const KEY = `${noun("api[- ]?keys?|access keys?|(?:your|this) key|(?:api|access|bearer|auth|session) tokens?|authorization(?: header)?|credentials?|log(?:ged)?[- ]?in|sign(?:ed)?[- ]?in|authenticat\\w+|signature")}|\\bx-(?:\\w+-)?api-key\\b`;

/** By cause, in deciding order. */
export const PROSE = {
  quota: about(MONEY),
  content: about(
    noun(
      "(?:self-)?harm|nsfw|malware|personal data|explicit (?:material|content|language)|violence|violent|hate speech|hateful|harassment|sexual(?:ly)?|harmful|unsafe|illegal|prohibited|jailbreak(?:ing)?|prompt injection|moderation|toxic|obscene|inappropriate|offensive|guardrails?|weapons|minors|hate|severity (?:high|medium)|withheld|protected (?:text|material)|(?:usage|use|content|safety|AI|moderation) polic(?:y|ies)|safety (?:system|filter|check|reasons)",
    ),
  ),
  context: about(
    `${within("\\btokens\\b", LONG)}|${within(noun("conversation|prompt|history|chat|input|context|thread|text|length of (?:the )?messages"), LONG)}|\\b\\d+ of \\d+ tokens\\b|\\bn_ctx\\b|start a new (?:chat|conversation|session|thread)`,
    OTHER_LIMITS,
  ),
  model: about(MODEL, NO_MODEL),
  key: about(KEY),
} as const;

/** A refusal to let somebody in that is about money: it says nothing of what is shown for that. */
export const SHUT_OUT_UNPAID = about(MONEY, `${KEY}|\\b(?:keys?|tokens?|headers?)\\b`);
