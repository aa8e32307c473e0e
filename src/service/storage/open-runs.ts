import { sql } from "kysely";
import { OPEN_RUN_STATUSES } from "../protocol/runs.ts";

/** For `status in ${OPEN_RUNS}`: literals, as the partial indexes of open runs have them. */
export const OPEN_RUNS = sql`(${sql.join(OPEN_RUN_STATUSES.map((status) => sql.lit(status)))})`;
