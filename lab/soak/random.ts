/** Random choices that a seed repeats, as far as the machine's timing lets them be the same. */
export interface Random {
  /** A number from 0 up to, not including, 1. */
  next(): number;
  /** A whole number within bounds, both included. */
  between(least: number, most: number): number;
  chance(share: number): boolean;
  pick<T>(values: readonly [T, ...T[]]): T;
}

/** Makes choices from a seed. @see mulberry32 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  return {
    next,
    between: (least, most) => least + Math.floor(next() * (most - least + 1)),
    chance: (share) => next() < share,
    pick: (values) => values[Math.floor(next() * values.length)] ?? values[0],
  };
}
