import { InvalidArgumentError } from "commander";

/** Reads a whole number of a range, as an option's value. */
export function integer(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= minimum && number <= maximum) return number;
    throw new InvalidArgumentError(`It is a whole number from ${minimum} to ${maximum}.`);
  };
}

/** Reads file extensions: `md,.PDF` is md and pdf. Given again it adds to what was given. */
export function extensions(text: string, before: readonly string[] = []): string[] {
  const given = text
    .split(/[ ,]+/)
    .filter(Boolean)
    .map((extension) => extension.toLowerCase().replace(/^\./, ""));
  return [...before, ...given];
}
