/** One fault put into the code on purpose, and the tests that have to notice it. */
export interface Mutation {
  /** Unique in its program, `kebab-case`. */
  readonly id: string;
  /** The room, as ARCHITECTURE.md names it. */
  readonly room: string;
  /** The file, from the root of the repository. */
  readonly file: string;
  /** Exact text that stands once in the file. */
  readonly find: string;
  readonly replace: string;
  /** What a user would lose. */
  readonly says: string;
  /** Tests of which at least one fails then: `test/a.test.ts`, or `test/a.test.ts > part of a title`. */
  readonly caughtBy: readonly [string, ...string[]];
}
