/**
 * Waits for steps that do not depend on one another, to the end of each: where one fails, none of the others is still under
 * way when what they have done is taken back.
 *
 * @returns what the first one came to
 * @throws what the first of those that failed has thrown
 */
export async function allDone<T>(...steps: readonly [Promise<T>, ...Promise<unknown>[]]): Promise<T> {
  await Promise.allSettled(steps);
  const [result] = await Promise.all(steps);
  return result;
}
