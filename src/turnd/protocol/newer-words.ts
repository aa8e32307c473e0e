declare const newer: unique symbol;

/**
 * A word of a closed list that this version does not know: a turnd that is newer has added it.
 *
 * It is the word as turnd sent it. A caller treats it as it would treat the list's most general one.
 */
export type NewerWord = string & { readonly [newer]: true };

/** What an answer of turnd's may hold: the same, but each word of a closed list may be one that a newer turnd has added. */
export type Tolerant<T> = TolerantText<Extract<T, string>> | TolerantRest<Exclude<T, string>>;

/** A text that can be any stays what it is. */
type TolerantText<T extends string> = [T] extends [never] ? never : string extends T ? T : T | NewerWord;
/** A `type` of one word tells shapes apart, as an event's does, and stays what it is. Of an array it is each element. */
type TolerantRest<T> = T extends object
  ? { [Key in keyof T]: Key extends "type" ? TolerantType<T[Key]> : Tolerant<T[Key]> }
  : T;
type TolerantType<T> = true extends IsOneOfSeveral<T> ? Tolerant<T> : T;
type IsOneOfSeveral<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? false : true) : never;

/** What a table over a closed list has for a word; undefined for one that a newer turnd has added. */
export function lookUp<Value>(table: Readonly<Record<string, Value>>, word: string): Value | undefined {
  return Object.hasOwn(table, word) ? table[word] : undefined;
}

/** What a word looks like: no sentence and no page that something else has sent in its place. */
const WORD = /^[A-Za-z][A-Za-z0-9_.:-]{0,63}$/;

/** Whether a text in the place of a word may be one of a newer turnd. */
export function isWord(value: unknown): value is NewerWord {
  return typeof value === "string" && WORD.test(value);
}
