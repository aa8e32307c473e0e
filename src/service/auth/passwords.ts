import { hash, verify } from "@node-rs/argon2";
import PQueue from "p-queue";
import { ApiProblem, InputProblem } from "../protocol/problems.ts";

/** Hashes and checks passwords: argon2id, PHC strings. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Costs the same whether there is a hash or none. */
  verify(stored: string | null | undefined, password: string): Promise<boolean>;
  /** Work that belongs to a check, such as counting it, inside the check's place in the queue. */
  inTurn<T>(work: (verify: Passwords["verify"]) => Promise<T>): Promise<T>;
}

/** OWASP's second choice: 19 MiB, two passes, one lane; about 100 ms. */
const OPTIONS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };
/** Two at once: more take the cores from everything else, and a guesser's own. */
const AT_ONCE = 2;
/** More than that wait for a password check: further callers are refused with `Retry-After`. */
const MOST_WAITING = 100;

export function createPasswords(): Passwords {
  const queue = new PQueue({ concurrency: AT_ONCE });
  let dummy: Promise<string> | undefined;

  async function add<T>(work: () => Promise<T>): Promise<T> {
    if (queue.size >= MOST_WAITING) throw new ApiProblem("rate_limited", "too many password checks wait already");
    return queue.add(work);
  }
  async function check(stored: string | null | undefined, password: string): Promise<boolean> {
    const known = stored ?? (await (dummy ??= hash("no account has this password", OPTIONS)));
    const isRight = await verify(known, password);
    return isRight && stored !== null && stored !== undefined;
  }

  return {
    hash: (password) => add(() => hash(password, OPTIONS)),
    verify: (stored, password) => add(() => check(stored, password)),
    inTurn: (work) => add(() => work(check)),
  };
}

/** @throws {InputProblem} password_invalid; `field` names the field of the body */
export function assertGoodPassword(password: string, username: string, field = "password"): void {
  if (password.toLowerCase() === username.toLowerCase()) {
    throw new InputProblem("password_invalid", ["body", field], "the password must not be the username");
  }
}
