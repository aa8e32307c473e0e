import { createHash } from "node:crypto";

const LABEL_DIGITS = 8;

/**
 * The name of a shell in the log: its id may be a link, which opens it. Law: keys travel aside. The label distinguishes
 * shells and opens none.
 */
export function shellLabel(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, LABEL_DIGITS);
}
