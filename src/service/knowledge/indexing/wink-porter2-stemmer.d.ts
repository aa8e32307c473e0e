declare module "wink-porter2-stemmer" {
  /** The stem of a word of lower-case letters. */
  function stem(word: string): string;
  export = stem;
}
