/** SHA-256 of what comes piece by piece, whose state can be kept and continued. */
export interface Sha256 {
  update(bytes: Uint8Array): void;
  /** Of everything so far, in lower-case hex; more may follow. */
  digest(): string;
  /** The state, for {@link createSha256}: 40 bytes and the part of a block that is not full. */
  save(): Uint8Array;
}

const BLOCK = 64;
const WORDS = 8;
const SAVED_HEAD = WORDS * 4 + 8;

/**
 * Not the platform's: `crypto.subtle` needs the whole text, is absent from pages served without TLS, and gives no state
 * that a reader could continue with after its own restart.
 *
 * @param saved - what an earlier one has saved
 * @throws {RangeError} for a state that none has saved
 * @see FIPS 180-4, 6.2
 */
export function createSha256(saved?: Uint8Array): Sha256 {
  const state = Int32Array.from(INITIAL);
  const block = new Uint8Array(BLOCK);
  const blockView = new DataView(block.buffer);
  let length = 0;
  if (saved !== undefined) {
    if (saved.length < SAVED_HEAD) throw new RangeError("the state of a digest is too short");
    const view = viewOf(saved);
    for (let word = 0; word < WORDS; word += 1) state[word] = view.getInt32(word * 4);
    length = Number(view.getBigUint64(WORDS * 4));
    if (!Number.isSafeInteger(length) || saved.length !== SAVED_HEAD + (length % BLOCK)) {
      throw new RangeError("the state of a digest has another length");
    }
    block.set(saved.subarray(SAVED_HEAD));
  }

  return {
    update(bytes) {
      const filled = length % BLOCK;
      length += bytes.length;
      if (filled + bytes.length < BLOCK) {
        block.set(bytes, filled);
        return;
      }
      let taken = 0;
      if (filled > 0) {
        taken = BLOCK - filled;
        block.set(bytes.subarray(0, taken), filled);
        compress(state, blockView, 0);
      }
      const view = viewOf(bytes);
      for (; taken + BLOCK <= bytes.length; taken += BLOCK) compress(state, view, taken);
      block.set(bytes.subarray(taken));
    },
    digest() {
      const filled = length % BLOCK;
      const last = new Uint8Array(filled < BLOCK - 8 ? BLOCK : 2 * BLOCK);
      last.set(block.subarray(0, filled));
      last[filled] = 0x80;
      const view = viewOf(last);
      view.setBigUint64(last.length - 8, BigInt(length) * 8n);
      const final = state.slice();
      for (let at = 0; at < last.length; at += BLOCK) compress(final, view, at);
      return [...final].map((word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
    },
    save() {
      const bytes = new Uint8Array(SAVED_HEAD + (length % BLOCK));
      const view = viewOf(bytes);
      for (const [word, value] of state.entries()) view.setInt32(word * 4, value);
      view.setBigUint64(WORDS * 4, BigInt(length));
      bytes.set(block.subarray(0, length % BLOCK), SAVED_HEAD);
      return bytes;
    },
  };
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Of one call of {@link compress}: it is done before the next one begins. */
const schedule = new Int32Array(BLOCK);

/** Signed words all through: engines keep them out of the heap, which they do not with unsigned ones. */
function compress(state: Int32Array, view: DataView, offset: number): void {
  for (let at = 0; at < 16; at += 1) schedule[at] = view.getInt32(offset + at * 4);
  for (let at = 16; at < BLOCK; at += 1) {
    const early = wordOf(schedule, at - 15);
    const late = wordOf(schedule, at - 2);
    const sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[at] = (wordOf(schedule, at - 16) + sigma0 + wordOf(schedule, at - 7) + sigma1) | 0;
  }
  let a = wordOf(state, 0);
  let b = wordOf(state, 1);
  let c = wordOf(state, 2);
  let d = wordOf(state, 3);
  let e = wordOf(state, 4);
  let f = wordOf(state, 5);
  let g = wordOf(state, 6);
  let h = wordOf(state, 7);
  for (let at = 0; at < BLOCK; at += 1) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + wordOf(ROUND, at) + wordOf(schedule, at)) | 0;
    const sum0 = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
    const majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + sum0 + majority) | 0;
  }
  add(state, 0, a);
  add(state, 1, b);
  add(state, 2, c);
  add(state, 3, d);
  add(state, 4, e);
  add(state, 5, f);
  add(state, 6, g);
  add(state, 7, h);
}

/** An index that exists; the compiler cannot know. */
function wordOf(words: Int32Array, at: number): number {
  return words[at] ?? 0;
}

function add(words: Int32Array, at: number, word: number): void {
  words[at] = (wordOf(words, at) + word) | 0;
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The first 64 primes: the constants are the first 32 bits of the fractions of their roots. */
const PRIMES = firstPrimes(BLOCK);
const INITIAL = PRIMES.slice(0, WORDS).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) | 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
