import { ApiProblem, type ProblemCode } from "./problems.ts";

/** Places that all users of a process share, of which no user has more than a share. */
export interface Shares {
  /**
   * Takes a place at once, or not at all.
   *
   * @returns gives it back; safe to call twice
   * @throws {ApiProblem} the code of these places
   */
  take(userId: number): () => void;
  count(): number;
}

export interface SharesOptions {
  /** Of all users together. */
  readonly most: number;
  readonly mostOfOne: number;
  readonly code: ProblemCode;
  /** What they are places for, as a refusal writes it: `event streams`. */
  readonly what: string;
}

export function createShares({ most, mostOfOne, code, what }: SharesOptions): Shares {
  const byUser = new Map<number, number>();
  let all = 0;
  const refuse = (count: number, whose: string): ApiProblem =>
    new ApiProblem(code, `${what}${whose} under way already: ${count}`);

  return {
    take(userId) {
      const own = byUser.get(userId) ?? 0;
      if (own >= mostOfOne) throw refuse(own, " of yours");
      if (all >= most) throw refuse(all, "");
      byUser.set(userId, own + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const left = (byUser.get(userId) ?? 1) - 1;
        if (left === 0) byUser.delete(userId);
        else byUser.set(userId, left);
      };
    },
    count: () => all,
  };
}
