import stem from "wink-porter2-stemmer";

/** Longest token, in UTF-16 units; what is longer is cut, in texts and queries alike. */
export const TOKEN_LENGTH = 64;
/** Longest word that is stemmed: the stemmer is not linear. */
const STEM_LENGTH = 40;
/** Longest piece that is handed to the segmenter or looked at as one run: a text of 5 MB may be one word. */
const PIECE_LENGTH = 4_096;
const CACHE_SIZE = 100_000;

const RUN = /[\p{L}\p{N}\p{M}]+/gu;
const ASCII = /^[A-Za-z0-9]+$/;
/** Scripts that write no blanks between words. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;
const PARTS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const LETTERS = /^[a-z]+$/;
const MARKS = /\p{M}+/gu;

const segmenter = new Intl.Segmenter("und", { granularity: "word" });
const stems = new Map<string, string>();

/**
 * The tokens by which texts are found: of a chunk's heading and content, and of a query.
 *
 * English words are stemmed and without stop words; `camelCase` and digits also give their parts; scripts without blanks
 * are cut into words; other words lose their marks. A token is never empty, never longer than 64, and holds no blank.
 *
 * Pure, in the order of the text, repetitions kept. Synchronous: 10 000 chunks take about a second.
 */
export function tokenize(text: string): string[] {
  const tokens: string[] = [];
  for (const piece of piecesOf(text)) {
    for (const [run] of piece.normalize("NFKC").matchAll(RUN)) addRun(run, tokens);
  }
  return tokens;
}

/** A text in pieces that end at a blank, or at the latest after `PIECE_LENGTH` units. */
function* piecesOf(text: string): Generator<string> {
  let start = 0;
  while (start < text.length) {
    let end = Math.min(start + PIECE_LENGTH, text.length);
    if (end < text.length) {
      // Looked for only in the piece: the whole text may have no blank.
      const piece = text.slice(start, end);
      const blank = Math.max(piece.lastIndexOf(" "), piece.lastIndexOf("\n"));
      if (blank > 0) end = start + blank;
      else if (isLowSurrogate(text.charCodeAt(end))) end -= 1;
    }
    yield text.slice(start, end);
    start = end;
  }
}

function addRun(run: string, tokens: string[]): void {
  if (ASCII.test(run)) addAscii(run, tokens);
  else if (UNSPACED.test(run)) addSegments(run, tokens);
  else addWord(run, tokens);
}

function addSegments(run: string, tokens: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(run)) {
    if (isWordLike !== true) continue;
    if (ASCII.test(segment)) addAscii(segment, tokens);
    else add(segment.toLowerCase(), tokens);
  }
}

/** A word with letters beyond ASCII: `Café` is found as `cafe`, and so by the stem of `cafe`. */
function addWord(run: string, tokens: string[]): void {
  const bare = run.toLowerCase().normalize("NFD").replace(MARKS, "").normalize("NFC");
  if (ASCII.test(bare)) addAscii(bare, tokens);
  else add(bare, tokens);
}

function addAscii(run: string, tokens: string[]): void {
  addStem(run.toLowerCase(), tokens);
  if (LETTERS.test(run) || run.length > TOKEN_LENGTH) return;
  const parts = run.match(PARTS) ?? [];
  if (parts.length < 2) return;
  for (const part of parts) addStem(part.toLowerCase(), tokens);
}

function addStem(word: string, tokens: string[]): void {
  if (STOP_WORDS.has(word)) return;
  add(word.length <= STEM_LENGTH && LETTERS.test(word) ? stemOf(word) : word, tokens);
}

function add(token: string, tokens: string[]): void {
  if (token === "") return;
  tokens.push(token.length <= TOKEN_LENGTH ? token : cut(token));
}

function cut(token: string): string {
  return token.slice(0, isLowSurrogate(token.charCodeAt(TOKEN_LENGTH)) ? TOKEN_LENGTH - 1 : TOKEN_LENGTH);
}

function stemOf(word: string): string {
  const known = stems.get(word);
  if (known !== undefined) return known;
  // Emptied, not aged: words come back within one text, and the next text has others.
  if (stems.size >= CACHE_SIZE) stems.clear();
  const made = stem(word);
  stems.set(word, made);
  return made;
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** English words that are in nearly every text. Source: Snowball's list, snowballstem.org/algorithms/english/stop.txt. */
const STOP_WORDS: ReadonlySet<string> = new Set(
  `i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its
  itself they them their theirs themselves what which who whom this that these those am is are was were be been being have
  has had having do does did doing would should could ought a an the and but if or because as until while of at by for with
  about against between into through during before after above below to from up down in out on off over under again further
  then once here there when where why how all any both each few more most other some such no nor not only own same so than
  too very`.split(/\s+/),
);
