import { z } from "zod";

/** What the body of a provider's answer says of its failure. */
export interface AnswerBody {
  /** Every code, type and status word it names the cause by, in one line. */
  readonly codes?: string;
  /** The provider's own sentence, and that of the server behind it. */
  readonly sentence?: string;
  /** An HTTP status that stands in the body: inside a stream there is no other. */
  readonly status?: number;
}

const MAX_CHARACTERS = 2_000;

const text = z.string().optional().catch(undefined);
const word = z
  .union([z.string(), z.number().transform(String)])
  .optional()
  .catch(undefined);
const words = z
  .union([
    z.string(),
    // Field errors and the like: as they stand.
    z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())]).transform((value) => JSON.stringify(value)),
  ])
  .optional()
  .catch(undefined);
const Reasons = z.array(z.object({ reason: text }).catch({})).catch([]);
const Level = z.object({
  code: word,
  type: text,
  status: word,
  message: words,
  /** AWS, and makers in China, spell it so. */
  Message: words,
  msg: words,
  detail: words,
  /** OAuth names the cause in `error`, and says this of it. */
  error_description: words,
  /** Several at once: Cloudflare, and what speaks JSON:API. */
  errors: words,
  /** Google names the cause here. */
  details: Reasons,
  /** Azure's filter does so here. */
  innererror: z.object({ code: text }).optional().catch(undefined),
  /** What a gateway hands on of the provider behind it. */
  metadata: z.object({ raw: words }).optional().catch(undefined),
});
type Level = z.infer<typeof Level>;
const Body = Level.extend({
  error: z.unknown().optional(),
  response: z.object({ error: z.unknown().optional() }).optional().catch(undefined),
});

/**
 * Reads the body of a provider's refusal, or of an error inside its stream, in any of the shapes that providers use.
 *
 * @returns undefined for a body that is no JSON, such as a proxy's page
 * @see docs/contracts/cli-a.md §5, docs/contracts/cli-b.md §5; test/turnd/daemon/executors/answers
 */
export function readAnswerBody(body: string): AnswerBody | undefined {
  const value = parse(body);
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === "string") return { sentence: first.slice(0, MAX_CHARACTERS) };
  const read = Body.safeParse(first);
  if (!read.success) return undefined;
  const { error: named, response, ...outer } = read.data;
  const error = named ?? response?.error;
  const inner: Level[] = typeof error === "string" ? [] : Level.array().catch([]).parse([error]);
  const levels = [...inner, outer];
  const sentences = [...(typeof error === "string" ? [error] : []), ...levels.flatMap(listWords)];
  const status = levels.flatMap((level) => [level.code, level.status]).find(isErrorStatus);
  return {
    ...toLine("codes", [...(isCode(error) ? [error] : []), ...levels.flatMap(listCodes)], " "),
    ...toLine("sentence", sentences, ": "),
    ...(status === undefined ? {} : { status: Number(status) }),
  };
}

function listCodes({ code, type, status, innererror, details }: Level): (string | undefined)[] {
  return [code, type, status, innererror?.code, ...details.map(({ reason }) => reason)];
}

function listWords(level: Level): (string | undefined)[] {
  const { message, Message, msg, detail, error_description, errors, metadata } = level;
  return [message, Message, msg, detail, error_description, errors, metadata?.raw];
}

/** A word in place of a sentence, as in OAuth's `invalid_grant`. */
function isCode(error: unknown): error is string {
  return typeof error === "string" && /^\w+(?:[._-]\w+)+$/.test(error);
}

function isErrorStatus(code: string | undefined): boolean {
  return code !== undefined && /^[45]\d\d$/.test(code);
}

function toLine<Key extends string>(
  key: Key,
  parts: readonly (string | undefined)[],
  separator: string,
): Partial<Record<Key, string>> {
  const given = new Set(parts.filter((part) => part !== undefined && part !== ""));
  const line: Partial<Record<string, string>> = {};
  if (given.size > 0) line[key] = [...given].join(separator).slice(0, MAX_CHARACTERS);
  return line;
}

function parse(body: string): unknown {
  if (!/^\s*["[{]/.test(body)) return undefined;
  try {
    return JSON.parse(body);
  } catch {
    // No JSON, or cut off: its text is looked at as it stands.
    return undefined;
  }
}
