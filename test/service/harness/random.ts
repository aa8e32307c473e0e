/** Numbers from a seed: the same seed makes the same choices, as far as the machine lets it. */
export interface Random {
  readonly seed: number;
  /** From 0 to below `limit`. */
  below(limit: number): number;
  pick<T>(from: readonly T[]): T;
}

/** @param seed - absent: drawn, and printed so that it can be given by `SVC_TEST_SEED` */
export function createRandom(
  seed = Number(process.env["SVC_TEST_SEED"] ?? Math.floor(Math.random() * 2 ** 31)),
): Random {
  process.stdout.write(`SVC_TEST_SEED=${seed}\n`);
  let state = seed;
  // mulberry32
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    seed,
    below,
    pick(from) {
      const picked = from[below(from.length)];
      if (picked === undefined) throw new Error("nothing to pick from");
      return picked;
    },
  };
}
