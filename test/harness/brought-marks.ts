/** How programs of a repository leave a mark that they ran, or were asked for. */
export interface Marks {
  /** A shell command that leaves a name. */
  command(name: string): string;
  /** The same as a program with arguments. */
  program(name: string): string[];
  /** The same as a script with its own first line. */
  script(name: string): string;
  /** The same as a module for Bun or Node. */
  module(name: string): string;
  /** The address that must not be asked. */
  readonly url: string;
}

/** Contents of files by path, below the repository's root. */
export type Files = Readonly<Record<string, string>>;

/** The marker in its texts for a model. */
export const BROUGHT_TEXT = "This text came with the repository.";
