import { z } from "zod";
import { PROBLEM_STATUS, type ProblemCode } from "./problems.ts";

/** An id that callers choose: a request's, a thread's. */
export const Id = z
  .string()
  .regex(/^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,64}$/, "1 to 64 of letters, digits and . _ : -, not . or ..");
/** A slug of an agent. */
export const Slug = z.string().regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, "lower-case letters, digits and . _ -, up to 64");
/** A number of a row, in a path. */
export const NumberInPath = z.coerce.number().int().min(1).max(2_147_483_647);
export const RowId = z.int().min(1).max(2_147_483_647);
export const Time = z.iso.datetime();
export const Uuid = z.uuid();

/** What rows of a list are skipped and how many are answered. */
export const Page = {
  skip: z.coerce.number().int().min(0).max(1_000_000_000).default(0),
  limit: z.coerce.number().int().min(1).max(500).default(100),
};

/** An object of the caller's, at most so many bytes as JSON. */
export function jsonObject(maxBytes: number) {
  return z
    .record(z.string(), z.unknown())
    .refine((value) => countBytes(JSON.stringify(value)) <= maxBytes, `at most ${maxBytes} bytes as JSON`);
}

/** Of UTF-8. Nothing of Node's own here: the pages in a browser are checked against these schemas' types. */
const countBytes = (text: string): number => new TextEncoder().encode(text).length;

/** Soft limits of a user or a key; absent is unlimited. */
export const Quota = z
  .strictObject({
    runs_per_day: z.int().min(0).optional(),
    tokens_per_day: z.int().min(0).optional(),
    active_runs: z.int().min(0).optional(),
  })
  .meta({ id: "Quota" });
export type Quota = z.infer<typeof Quota>;

export const Success = z.strictObject({ success: z.literal(true) }).meta({ id: "Success" });

const codes = Object.keys(PROBLEM_STATUS).filter((code): code is ProblemCode => code in PROBLEM_STATUS);

/** `body`, `query`, `path` or `header`, and the way from there. */
const Loc = z.array(z.union([z.string(), z.int()]));

/** The body of every refusal. */
export const Problem = z
  .strictObject({
    detail: z.looseObject({
      code: z.enum(codes).meta({ description: "Why the call was refused." }),
      message: z.string().meta({ description: "What is wrong and what to change." }),
      loc: Loc.optional().meta({ description: "Of a 422: where in the request." }),
    }),
  })
  .meta({ id: "Problem" });

/** The body of a 422 for a request that does not validate. */
export const ValidationError = z
  .strictObject({
    detail: z.array(z.strictObject({ loc: Loc, msg: z.string(), type: z.string() })),
  })
  .meta({ id: "ValidationError" });
