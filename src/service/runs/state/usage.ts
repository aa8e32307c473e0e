import { sql } from "kysely";
import { z } from "zod";
import { defined } from "../../../kit/defined.ts";
import { Usage as TurnUsage, type TurnEndedData } from "../../../turnd/protocol/index.ts";
import type { Usage } from "../../protocol/runs.ts";
import type { Transaction } from "../../storage/transaction.ts";
import type { RunRow } from "./rows.ts";

/** Tokens of a run as they are kept: turnd's words. */
export const StoredUsage = TurnUsage.extend({ cost_usd: z.number().optional() });
export type StoredUsage = z.infer<typeof StoredUsage>;

/** The same in OpenAI's words; null is unknown, which is not 0. */
export function showUsage(stored: unknown): Usage | null {
  const parsed = StoredUsage.safeParse(stored);
  if (!parsed.success) return null;
  const usage = parsed.data;
  return {
    prompt_tokens: usage.input_tokens,
    completion_tokens: usage.output_tokens,
    total_tokens: usage.input_tokens + usage.output_tokens,
    prompt_tokens_details: { cached_tokens: usage.cached_input_tokens },
    completion_tokens_details: { reasoning_tokens: usage.reasoning_tokens },
    ...defined({ cost_usd: usage.cost_usd }),
  };
}

/** What a turn has used, as its end reports it. */
export function usageOfTurn({ usage, cost_usd }: Pick<TurnEndedData, "usage" | "cost_usd">): StoredUsage | undefined {
  return usage === undefined ? undefined : { ...usage, ...defined({ cost_usd }) };
}

/** Adds an ended run to its user's day, in the transaction of its end. */
export async function account(
  trx: Transaction,
  run: Pick<RunRow, "user_id" | "status">,
  keyId: number | null,
  usage: StoredUsage | undefined,
): Promise<void> {
  await add(trx, { userId: run.user_id, keyId, runs: 1, failed: run.status === "failed" ? 1 : 0 }, usage);
}

/** Adds what a turn has used that ended after its run. */
export async function accountLate(
  trx: Transaction,
  { user_id: userId }: Pick<RunRow, "user_id">,
  keyId: number | null,
  usage: StoredUsage,
): Promise<void> {
  await add(trx, { userId, keyId, runs: 0, failed: 0 }, usage);
}

interface UsageEntry {
  readonly userId: number;
  readonly keyId: number | null;
  readonly runs: number;
  readonly failed: number;
}

async function add(trx: Transaction, { userId, keyId, runs, failed }: UsageEntry, usage?: StoredUsage): Promise<void> {
  await sql`
    insert into usage_day as known (user_id, api_key_id, day, runs, failed_runs, input_tokens, cached_input_tokens, output_tokens,
      reasoning_tokens, cost_usd)
    values (${userId}, ${keyId ?? 0}, (now() at time zone 'UTC')::date, ${runs}, ${failed}, ${usage?.input_tokens ?? 0},
      ${usage?.cached_input_tokens ?? 0}, ${usage?.output_tokens ?? 0}, ${usage?.reasoning_tokens ?? 0}, ${usage?.cost_usd ?? null}::numeric)
    on conflict (user_id, api_key_id, day) do update set
      runs = known.runs + excluded.runs, failed_runs = known.failed_runs + excluded.failed_runs,
      input_tokens = known.input_tokens + excluded.input_tokens,
      cached_input_tokens = known.cached_input_tokens + excluded.cached_input_tokens,
      output_tokens = known.output_tokens + excluded.output_tokens,
      reasoning_tokens = known.reasoning_tokens + excluded.reasoning_tokens,
      cost_usd = coalesce(known.cost_usd + excluded.cost_usd, known.cost_usd, excluded.cost_usd)`.execute(trx);
}
