/**
 * How providers name the causes of a failure: families of codes and of sentences, for the failure tables of every CLI.
 *
 * Codes are tried on what a body names the cause by, words on what it says. Words decide only where status and codes do
 * not; each family is held by test/turnd/daemon/executors/answer-words.test.ts, with its near misses.
 */

/** Codes and types, as one word of `AnswerBody.codes`. */
export const CODES = {
  quota:
    /(?:^| )(?:insufficient_(?:user_)?(?:quota|balance|credits?|funds)|exceeded_current_quota_error|quota_?(?:exceeded|exhausted)|billing_\w+|usage_limit_\w+|usage_not_included|budget_exceeded|out_of_credits|spend(?:ing)?_(?:cap|limit)\w*|(?:plan|credit|trial|subscription)_(?:limit|quota|expired|ended|exhausted|inactive|required)\w*|(?:balance|credits?)_(?:too_low|low|empty|insufficient|exhausted)|payment_(?:required|declined|failed)|(?:no|not_enough)_(?:balance|credits?|funds)|dailyLimitExceeded|AccountOverdue\w*|Arrearage|AllocationQuota\.FreeTierOnly|BILLING_DISABLED|(?:Credits|MonthlyLimit|UserLimit|SubscriptionUsageLimit|GoUsageLimit)Error)(?= |$)/i,
  context:
    /(?:^| )(?:(?:model_)?context_(?:length|window|size)_exceeded|exceed_context_size_error|tokens_limit_reached|prompt_too_long)(?= |$)/i,
  content:
    /(?:^| )(?:content_?filter(?:ed)?|content_?policy(?:_?violation)?|ResponsibleAIPolicyViolation|moderation_blocked|invalid_prompt|cyber_policy\w*|data_?inspection_?failed|PROHIBITED_\w+|image_content_policy_violation|Sensitive\w*Detected|(?:safety|policy|guardrails?|moderation)_(?:block(?:ed)?|violation|flagged|intervened|refusal))(?= |$)/i,
  model:
    /(?:^| )(?:model_?not_?(?:found|exists?|supported|available|active)|invalid_model|unknown_model|DeploymentNotFound|model_(?:decommissioned|deprecated|retired|sunset|removed|deleted|disabled))(?= |$)/i,
  /** Of the hosted provider that CLI A comes with; SageMaker's is a container that failed, with 424. */
  modelError: /(?:^| )ModelError(?= |$)/,
  key: /(?:^| )(?:AuthError|(?:invalid|incorrect)_(?:x_)?api_?key|API_KEY_INVALID|invalid_authentication(?:_error)?|authentication_(?:error|failed)|permission_(?:error|denied)|unauthorized|unauthenticated|token_not_found_in_db|(?:invalid|expired)_(?:token|grant|client)|token_(?:expired|revoked|invalid)|(?:account|organi[sz]ation|user|key)_(?:deactivated|disabled|suspended|revoked|expired))(?= |$)/i,
  rate: /(?:^| )(?:rate_?limit(?:_?(?:error|exceeded|reached|reached_error))?|too_many_requests|limit_requests|limit_burst_rate|Throttling(?:Exception|\.\w+)?|RESOURCE_EXHAUSTED|service_tier_capacity_exceeded)(?= |$)/i,
  failed:
    /(?:^| )(?:api_error|server_error|internal_server_error|InternalServerError|overloaded_error|engine_overloaded_error|server_is_overloaded|slow_down|service_unavailable|UNAVAILABLE|INTERNAL|unavailable_error)(?= |$)/,
  request: /(?:^| )(?:invalid_request_error|invalid_argument|bad_request(?:_error)?|BadRequestError)(?= |$)/i,
  slow: /(?:^| )(?:timeout_error|gateway_timeout|request_timeout|DEADLINE_EXCEEDED)(?= |$)/i,
} as const;

/** All of some patterns, in any order. */
function allOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(`^${patterns.map(({ source }) => `(?=[^]*?(?:${source}))`).join("")}`, "i");
}

/** Any of some patterns, letter case aside. */
function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => `(?:${source})`).join("|"), "i");
}

/** One pattern, where another is nowhere in the text. */
function without(unless: RegExp, pattern: RegExp): RegExp {
  return new RegExp(`^(?![^]*?(?:${unless.source}))(?=[^]*?(?:${pattern.source}))`, "i");
}

/** A subject, and what is said of it within a few words. */
function near(subject: RegExp, verdict: RegExp, characters = 40): RegExp {
  return new RegExp(`(?:${subject.source}).{0,${characters}}(?:${verdict.source})`, "i");
}

/** What is paid with. */
const MONEY =
  /\b(?:credits?|balance|funds|allowance|subscription|trial|payment method|(?:credit )?card|spend(?:ing)? cap)\b/;
const GONE =
  /\b(?:exhausted|depleted|used up|consumed|declined|lapsed|ended|expired|inactive|run out|ran out|gone|is (?:only )?(?:zero|negative|empty|-?\$?0(?:[.,]0+)?(?![.,\d]))|(?:was|been) (?:hit|reached|spent))\b/;
/** What does a provider's work. */
const MODEL = /\b(?:models?|modell[oe]?|modelo|engine|deployment|adapter|checkpoint)\b|modèle|модель|モデル/;
const RETIRED =
  /\b(?:(?:is|was|were|has been|been) (?:retired|sunset|discontinued|withdrawn|removed|decommissioned|deprecated)|end of (?:its )?life|not (?:registered|deployed)|(?:is not|isn't) available (?:in|on|for|to)|existiert nicht|nicht gefunden|no existe|non esiste|n'existe pas)|não existe|не (?:существует|найдена)|見つかりません|存在しません/;
/** What judges a text. */
const JUDGE = /\b(?:safety|moderation|guardrails?|classifier|content (?:filter|polic)\w*)/;
const JUDGED =
  /\b(?:block(?:ed|s)|flag(?:ged|s)|refuse[ds]|reject(?:ed|s)|denie[ds]|trip(?:ped|s)|trigger(?:ed|s|ing)|intervened|violat(?:e[ds]?|ing|ions?)|caught|stopped|failed)\b/;
/** How long an answer may be, and how many tokens fit into a minute, say nothing of the prompt. */
const OTHER_LIMITS =
  /\bmax_(?:output_|completion_)?tokens\b|\b(?:output|completion) tokens\b|\bper[ -](?:second|sec|minute|min|hour|day)\b|\b[RT]P[MSD]\b|\bretry after\b|\b(?:needs|at least|minimum)\b/;
const MORE_TOKENS = anyOf(
  /\b(?:over|above|beyond|more than|exceed\w*|longer than|larger than)\b.{0,40}\b[\d,]+[ -]?k?[ -]tokens?\b/,
  /\b(?:sequence|prompt|input|conversation|context)\b.{0,20}\b(?:length|size|tokens?)\b.{0,30}\b(?:larger|longer|greater|more) than\b/,
  /\b(?:sequence|prompt|input|conversation|context)\b.{0,40}\bmaximum of [\d,]+ (?:tokens|positions)\b/,
  /\btoo many tokens\b(?!, please wait)|\binput tokens\b.{0,20}\b(?:must be|is|are) (?:no|not) more than\b/,
  /\b(?:conversation|prompt|input|context)\b.{0,40}\b(?:does not|doesn't|will not|won't) fit\b/,
);
const PROMPT_AND_ANSWER =
  /\b(?:prompt|input)[_ ]tokens?\b.{0,60}\b(?:must be|should be)\b.{0,10}(?:<=|<|less than|at most)/;
/** Who may ask, where nothing is said of money. */
const UNPAID = /\b(?:billing|payments?|spend\w*|invoices?|credits?|balance|owed|overdue|unpaid)\b/;
const SHUT_OUT =
  /\b(?:organi[sz]ation|account|user account|workspace|project)\b.{0,30}\b(?:is|was|has been|been) (?:disabled|deactivated|suspended|banned|terminated|blocked|locked)\b/;

const QUOTA = anyOf(
  /(?:exceed(?:ed|s)?|reached|out of|used up|exhausted)\b.{0,30}\bquota\b/,
  /\bquota\b.{0,30}\b(?:exceeded|exhausted|used up|reached)/,
  /insufficient[ _](?:\w{1,30}?[ _])?(?:quota|credits?|balance|funds)/,
  /\bbalance\b.{0,20}\b(?:too low|insufficient|not enough|exhausted)/,
  /out of credits|(?:requires?|needs?|purchase|buy) more credits|(?:no|not) have (?:any|enough) credits|n't have (?:any|enough) credits|used all (?:available|your) credits/,
  /\b(?:spend(?:ing)?|budget|usage|billing|monthly|weekly|daily|key) (?:hard )?(?:limits?|cap)\b.{0,20}\b(?:reached|exceeded|hit)/,
  /(?:reach(?:ed|ing)|exceed(?:ed|ing)|hit(?:ting)?)\b.{0,30}\b(?:spend(?:ing)?|budget|usage|inference|billing|monthly|weekly) (?:hard )?(?:limits?|cap)\b/,
  /budget has been exceeded|spend cap|plan and billing details|requires billing|billing (?:is not|has not been|is) (?:enabled|active|disabled)|payment required/,
  /\bcredits? (?:are|is|have been|has been) (?:depleted|exhausted|used up)|failure to pay|\b(?:overdue|unpaid|past[- ]due) (?:balance|invoices?|bills?)\b/,
  /\b(?:not enough|n't have sufficient|not have sufficient) (?:credits?|balance|funds)|\bcredits?\b.{0,10}\brun out|run out of credits?/,
  /free (?:trial|tier|plan|allocation)\b.{0,40}\b(?:ended|expired|exceeded)|(?:exceeded|used up|exhausted)\b.{0,20}\bfree (?:tier|plan|allocation)/,
  /\b(?:monthly|weekly|daily|credit) (?:\w+ )?(?:limit|allocation) (?:was |has been |is )?(?:reached|exceeded|used up|exhausted)/,
  /billing account\b.{0,20}\b(?:disabled|closed|inactive|suspended)|add a payment method|no active subscription/,
  /please (?:recharge|top up)|account is in good standing|free (?:tier|quota)\b.{0,40}\bexhausted/,
  near(MONEY, GONE),
  /\bno (?:more )?(?:funds|credits?|balance|quota)\b|\b(?:funds|credits?|balance|quota) left\b/,
  /\b(?:plan|tier)\b.{0,20}\b(?:includes|allows)\b.{0,60}\b(?:you have|you've|already) used\b/,
  /\b(?:add|update|requires?|needs?)\b.{0,20}\b(?:credit card|payment method|card on file)\b/,
  /余额不足|欠费|请充值|额度(?:已)?(?:用完|不足|耗尽)/,
);

const WINDOW = anyOf(
  /\bper[ -](?:second|sec|minute|min)\b|\b[RT]P[MS]\b/,
  /\b(?:retry|try again) (?:in|after) (?:about )?(?:[\d.]+m)?[\d.]+ ?(?:ms|s|m|seconds?|minutes?)\b/,
);

const NO_MODEL = anyOf(
  /\b(?:models?|deployment)\b.{0,120}?\b(?:(?:does|do) not exist|doesn't exist|not exist|not found|no longer (?:available|supported)|has been (?:deprecated|decommissioned|retired)|is not supported when)/,
  near(MODEL, RETIRED, 80),
  /\b(?:unknown|no such|invalid) (?:engine|deployment|adapter)\b|\b(?:engine|adapter|checkpoint)\b.{0,60}\b(?:does not exist|not found|is unknown)\b|\bwas sunset\b/,
  /\b(?:invalid|unknown|no such) model(?: name| id| identifier)?\b(?! (?:output|response|parameter|config|input))|not a valid model|not found the model|^model: \S{1,100}$/,
  /\b(?:not|no|n't) (?:\w+ ){0,2}access to (?:the )?model\b|unable to access (?:the )?model\b|\bverified to use (?:the |this )?model\b/,
  /\bmodel(?: \S{1,80})? is (?:currently )?not (?:supported(?! with)|enabled|allowed|available (?:in|on|for|to))\b|\bmodel is not available(?=[.,"']|$)|\bmodel(?: \S{1,80})? (?:is|was|has been) (?:disabled|deprecated|retired)\b/,
  /\b(?:unsupported|unrecognized) model\b|could not find (?:the )?model\b|no models? (?:named|loaded)\b|^model not supported\b/,
  /\bmodel (?:name|id|identifier)\b.{0,60}\b(?:is invalid|not valid|is unknown)|no endpoints found\b|模型不存在/,
);

/** Sentences. */
export const WORDS = {
  quota: QUOTA,
  /** Google calls what refills by itself within a minute a quota too. */
  refill: allOf(QUOTA, WINDOW),
  rate: anyOf(
    /\b(?:rate|acceleration)[- _]?limit|\b[RT]PM\b.{0,40}\blimit\b|too many concurrent|concurrency limit|too many (?:requests|tokens, please wait)|\bthrottl(?:ed|ing)\b|resource (?:has been )?exhausted/,
    /(?:requests|tokens) per (?:second|sec|minute|min|hour|day)\b|\btry again in [\d.]+ ?m?s\b|速率限制/,
    /\brequests? (?:too quickly|limit (?:reached|exceeded))|max(?:imum)? (?:number of )?(?:parallel |concurrent )?requests\b(?! \d)/,
  ),
  context: anyOf(
    /max(?:imum)? (?:context|prompt|model|input|sequence)(?: token)? (?:length|window|size)/,
    /(?:exceed(?:s|ed|ing)?|(?:longer|larger|greater) than|overflows?|too (?:long|large|big|small) for)\b.{0,40}\b(?:context(?! deadline)|(?:input |model )?token limit|max(?:imum)? (?:number of )?(?:input )?tokens|max(?:imum)? (?:input |prompt )?length)/,
    /\bcontext (?:window|length|size|limit)\b.{0,60}\b(?:exceed|overflow|not enough|too small|is full)|context length (?:is|of) only/,
    /\b(?:prompt|conversation|context|input) (?:is|was) too (?:long|large)|(?:prompt|conversation) too long|input length (?:should be|exceeds)|token count\b.{0,40}\bexceeds/,
    /(?<!output )\btokens? exceeds? the (?:configured |model(?:'s)? )?limit|\bsupports? at most [\d,]+ tokens|too many (?:input|prompt) tokens|model only accepts [\d,]+/,
    /shorten (?:your|the) (?:prompt|input|conversation|messages?)\b|submit something shorter/,
    /reduce the length of (?:the |your )?(?:messages|prompt|input|either)|ran out of room in the model's context window/,
    /\btokens in (?:the|your) (?:prompt|input|messages)\b.{0,20}\b(?:cannot|must not|may not) exceed|\binputs?\b`? tokens\b.{0,40}\bmust be (?:<=|less than|at most)|\binputs?\b`? must have (?:less|fewer) than \d+ tokens/,
    /context_(?:length|window)_exceeded|ContextWindowExceeded/,
    without(OTHER_LIMITS, MORE_TOKENS),
    PROMPT_AND_ANSWER,
    /(?:prompt|输入|上下文).{0,8}(?:超长|过长|超过|超出)/,
  ),
  content: anyOf(
    /\bcontent (?:management |moderation |safety |usage )?(?:filter(?:ing)?|polic(?:y|ies))\b|ContentPolicyViolation|content_policy/,
    near(JUDGED, JUDGE),
    near(JUDGE, JUDGED),
    /\b(?:prompt|input|output|request|message|content|image)s? flagged\b|\b(?:prompt|input|output|request|message|content|image)s?\b.{0,30}\b(?:was|were|has been|have been) flagged|flagged for possible cybersecurity risk|requires moderation/,
    /(?:rejected|blocked|refused)\b.{0,40}\b(?:safety system|safety filter|high risk|moderation)/,
    /violat(?:e|es|ed|ing|ion)s?\b.{0,40}\b(?:polic(?:y|ies)|guidelines?)\b/,
    /\bblocked\b.{0,20}\bsafety reasons|prohibited content|\bcontent (?:was |has been )?blocked|violat(?:e|es|ed|ing|ion)\b.{0,20}\bterms of (?:use|service)/,
    /flagged by\b.{0,20}\bmoderation|\bguardrails?\b.{0,20}\b(?:intervened|blocked|denied)|(?:denied|blocked) by (?:a |the )?guardrail/,
    /\b(?:input|prompt|text|request|message)s?\b.{0,20}\b(?:contains?|has) (?:sensitive|harmful|illegal) (?:information|content|material|words)/,
    /content exists risk|inappropriate content|unsafe or sensitive content|敏感内容|不安全/,
  ),
  model: NO_MODEL,
  key: anyOf(
    /\b(?:incorrect|invalid|wrong|expired|revoked)\b.{0,12}\b(?:api|x-api|access)[- _]?(?:key|token)s?\b/,
    /\bapi[- _]?key\b.{0,12}\b(?:not valid|invalid|expired|revoked|not found|disabled)/,
    /\b(?:missing|no) (?:x-)?api[- _]?key\b|\bapi[- _]?key (?:is (?:required|missing)|does not exist)|\bbad credentials\b|\bnot authenticated\b/,
    /\bcredentials\b.{0,20}\b(?:invalid|expired)|\b(?:the|your|this|access|bearer) token\b.{0,10}\bexpired|^invalid token$/,
    /\b(?:malformed|missing|invalid|bad|wrong) (?:bearer|authorization|auth)\b|\btoken (?:is|was|has been|has) (?:expired|revoked|invalid)/,
    /\bsignature\b.{0,60}\b(?:does not match|mismatch|is invalid)\b/,
    without(UNPAID, SHUT_OUT),
    /\bauthentication (?:fail(?:s|ed|ure)|error)\b|\bunauthorized\b|invalid (?:authentication|credentials)/,
  ),
  failed: anyOf(
    /\boverloaded\b|over capacity|at capacity|high demand|too busy|(?:service|temporarily) unavailable/,
    /\bserver[ _]error\b|internal (?:server )?error|server had an error|bad gateway|gateway time-?out|upstream (?:connect )?error|no healthy upstream/,
    /unexpectedly (?:stopped|disconnected)|(?:disconnected|terminated) unexpectedly|provider returned (?:an )?error/,
  ),
  request: anyOf(
    /^(?:stream disconnected before completion: )?(?:bad request|(?:invalid|unsupported|unknown|missing|unrecognized) (?:\w+ )?(?:request|parameter|value|argument|field|type|json|body)|400\b)/,
  ),
  slow: anyOf(
    /\b(?:operation|request|response|read|stream|model|provider) timed? ?out\b|timeout (?:error|exceeded|waiting)|deadline exceeded|^timed out\b/,
  ),
  network: anyOf(
    /unable to connect|(?:could not|cannot|failed to) connect|typo in the url or port|socket (?:connection was closed|hang up)|other side closed/,
    /connection (?:was )?(?:reset|refused|closed|lost|aborted|timed out|error|failed)|network (?:error|is unreachable)|too many redirects|fetch failed|second argument to fetch\(\)|failed to fetch\b/,
    /\bcertificate\b|\b(?:TLS|SSL) (?:handshake|error|alert)|ConnectionRefused|ConnectionClosed|FailedToOpenSocket/,
    /\bE(?:CONN(?:RESET|REFUSED|ABORTED)|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|TIMEDOUT)\b|getaddrinfo|dns error|failed to lookup address/,
  ),
} as const;

/** A model that is what the text begins with: words about something else may mention one. */
export const MODEL_FIRST = allOf(
  /^(?:(?:the|this|your|requested) )*models?\b|\baccess to (?:the |this )?model\b/,
  NO_MODEL,
);
