import { z } from "zod";
import { Quota, RowId } from "./common.ts";

/** PostgreSQL has no year 0. */
const Day = z.iso.date().refine((day) => !day.startsWith("0000"), "must be a day of the years 1 to 9999");

/** Days are of UTC, both ends included. Without `from`: the last 30 days. */
export const UsageQuery = z.strictObject({
  from: Day.optional(),
  to: Day.optional(),
  group: z.enum(["day", "key", "user"]).default("day"),
  user_id: z.coerce.number().pipe(RowId).optional(),
});
export type UsageQuery = z.infer<typeof UsageQuery>;

const counts = {
  runs: z.int(),
  failed_runs: z.int(),
  input_tokens: z.int(),
  cached_input_tokens: z.int(),
  output_tokens: z.int(),
  reasoning_tokens: z.int(),
  cost_usd: z.number().nullable().meta({
    description: "What those runs cost whose price is known, in US dollars; null where no price is known.",
  }),
};

/** One of `day`, `api_key_id` (0: without a key), `user_id`, as grouped. */
export const UsageItem = z
  .strictObject({
    day: Day.optional(),
    api_key_id: z.int().optional(),
    api_key_name: z.string().nullable().optional().meta({ description: "The key's name; null without a key." }),
    user_id: z.int().optional(),
    username: z.string().optional(),
    ...counts,
  })
  .meta({ id: "UsageItem" });
export type UsageItem = z.infer<typeof UsageItem>;

export const UsageReport = z
  .strictObject({ items: z.array(UsageItem), totals: z.strictObject(counts), quota: Quota })
  .meta({ id: "UsageReport" });
export type UsageReport = z.infer<typeof UsageReport>;
