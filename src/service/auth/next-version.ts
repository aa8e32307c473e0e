import { randomInt } from "node:crypto";
import { sql, type RawBuilder } from "kysely";

/** Numbers of a column of type `int`, and room for the next one. */
const MOST = 2 ** 30;

/**
 * What a number becomes that credentials are bound to: another than now, and one that it did not have before.
 *
 * A count would come to the same numbers again after a restore of an older backup, and with them what was ended meanwhile.
 */
export function nextVersion(column: "epoch" | "secret_version"): RawBuilder<number> {
  return sql<number>`(${sql.ref(column)} # ${randomInt(1, MOST)}::int)`;
}
