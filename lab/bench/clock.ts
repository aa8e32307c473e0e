/**
 * Makes a clock of the time of day, in milliseconds with fractions, comparable between processes of one machine.
 *
 * `Date.now()` has whole milliseconds only: the moment it moves on ties it to the finer clock.
 */
export function createClock(): () => number {
  let offset = Infinity;
  // A delay between the two readings can only make an offset too small a step too late: the least is the best.
  for (let edges = 0; edges < 20; edges += 1) {
    const before = Date.now();
    let now = before;
    while (now === before) now = Date.now();
    offset = Math.min(offset, performance.now() - now);
  }
  return () => performance.now() - offset;
}
