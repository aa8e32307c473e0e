import type { z } from "zod";
import { stringifyRedacted } from "../../event-log/redact-value.ts";
import type { Redact } from "../../event-log/redact.ts";

/** Takes secrets out of what is served or stored beside the log, which does it by itself. Law: keys travel aside. */
export function withoutSecrets<T>(redact: Redact, schema: z.ZodType<T>, data: T): T {
  return schema.parse(JSON.parse(stringifyRedacted(data, redact)));
}
