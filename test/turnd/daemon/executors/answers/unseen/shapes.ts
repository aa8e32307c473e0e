/** How makers lay out a refusal, beside the shape of OpenAI that `answer.ts` has. */

export const anthropic = (type: string, message: string): unknown => ({ type: "error", error: { type, message } });

export const google = (code: number, status: string, message: string, details?: unknown[]): unknown => ({
  error: { code, message, status, ...(details === undefined ? {} : { details }) },
});

/** @param raw - what the maker behind it has answered */
export const openRouter = (code: number, message: string, raw?: string): unknown => ({
  error: { message, code, ...(raw === undefined ? {} : { metadata: { raw, provider_name: "Maker" } }) },
});

/** Azure, Volcengine and GitHub write it so. */
export const coded = (code: string, message: string): unknown => ({ error: { code, message } });
