import type { Caller } from "../../../src/service/auth/caller.ts";

/** Someone who calls, with what they call with. */
export interface Person {
  readonly caller: Caller;
  readonly token: string;
}
