import { getSystemErrorMessage } from "node:util";

/** Why something failed, for a person: what the system calls it and its code, without call and path; any other message as it is. */
export function describeFault(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!("errno" in error && typeof error.errno === "number" && "code" in error)) return error.message;
  return `${getSystemErrorMessage(error.errno)} (${String(error.code)})`;
}
