/** A foreign text on one line, without effect on a terminal. */
export function toPrintable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return character === "\n" ? "⏎" : `\\u${code.length > 4 ? `{${code}}` : code.padStart(4, "0")}`;
  });
}
