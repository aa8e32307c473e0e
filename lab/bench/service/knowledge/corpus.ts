import { createRandom, type Random } from "../../../soak/random.ts";

const WORDS = 30_000;
const SECTION_CHARACTERS = 1_100;

/** Words as languages have them: the nth most frequent one n times as rare as the first. */
export function word(random: Random): string {
  return wordOf(Math.floor(WORDS ** random.next()));
}

/** The word of a rank, 1 being the most frequent. Only letters: digits would be parts of their own. */
export function wordOf(rank: number): string {
  return `w${rank.toString(26).replaceAll(/\d/g, (digit) => "qrstuvwxyz"[Number(digit)] ?? "q")}x`;
}

/** Markdown of so many sections; each is one chunk. */
export async function* sections(count: number, seed: number): AsyncGenerator<Buffer> {
  const random = createRandom(seed);
  for (let at = 0; at < count; at += 1) yield Buffer.from(section(random, at));
}

export function section(random: Random, at: number): string {
  let text = "";
  while (text.length < SECTION_CHARACTERS) text += `${word(random)} `;
  return `# Section ${at}\n\n${text}\n\n`;
}

/** Questions of three words drawn as the texts are. */
export function queries(count: number): string[] {
  const random = createRandom(2);
  return Array.from({ length: count }, () => [word(random), word(random), word(random)].join(" "));
}
