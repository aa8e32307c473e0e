/** `T` with every member that may be `undefined` left out instead. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/**
 * The members whose value is not `undefined`, in their order: for an object whose type has optional members, which
 * `exactOptionalPropertyTypes` does not allow to be `undefined`, and whose JSON or spread must not have them.
 *
 * `null`, `false`, `0` and `""` are kept. Nested objects are not looked into.
 */
export function defined<const T extends object>(members: T): Defined<T>;
export function defined(members: Readonly<Record<string, unknown>>): object {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value;
  return kept;
}
