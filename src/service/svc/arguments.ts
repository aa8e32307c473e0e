/** Reads file extensions: `md,.PDF` is md and pdf. Given again it adds to what was given. */
export function extensions(text: string, before: readonly string[] = []): string[] {
  const given = text
    .split(/[ ,]+/)
    .filter(Boolean)
    .map((extension) => extension.toLowerCase().replace(/^\./, ""));
  return [...before, ...given];
}
