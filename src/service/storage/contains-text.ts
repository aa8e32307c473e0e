import { sql, type Expression, type SqlBool } from "kysely";

/** A part of a text in any case; `%` and `_` mean themselves. */
export function containsText(column: Expression<unknown>, part: string): Expression<SqlBool> {
  return sql<boolean>`strpos(lower(${column}), lower(${part})) > 0`;
}
