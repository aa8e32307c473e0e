/** SHA-256 of what comes piece by piece, whose state can be kept and taken up again. */
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
 * Not the platform's: `crypto.subtle` takes a text whole, is absent from pages served without TLS, and no platform gives the state
 * away that a reader continues with after its own restart.
 *
 * @param saved - what an earlier one has saved
 * @throws {RangeError} for a state that none has saved
 * @see FIPS 180-4, 6.2
 */
export function createSha256(saved?: Uint8Array): Sha256 {
  const state = new Uint32Array(INITIAL);
  const block = new Uint8Array(BLOCK);
  const schedule = new Uint32Array(BLOCK);
  let length = 0;
  if (saved !== undefined) {
    if (saved.length < SAVED_HEAD) throw new RangeError("the state of a digest is too short");
    const view = new DataView(saved.buffer, saved.byteOffset, saved.byteLength);
    for (let word = 0; word < WORDS; word += 1) state[word] = view.getUint32(word * 4);
    length = Number(view.getBigUint64(WORDS * 4));
    if (!Number.isSafeInteger(length) || saved.length !== SAVED_HEAD + (length % BLOCK)) {
      throw new RangeError("the state of a digest has another length");
    }
    block.set(saved.subarray(SAVED_HEAD));
  }

  return {
    update(bytes) {
      let taken = 0;
      while (taken < bytes.length) {
        const filled = length % BLOCK;
        const piece = bytes.subarray(taken, taken + BLOCK - filled);
        block.set(piece, filled);
        length += piece.length;
        taken += piece.length;
        if (filled + piece.length === BLOCK) compress(state, block, schedule);
      }
    },
    digest() {
      const last = new Uint8Array(length % BLOCK < BLOCK - 8 ? BLOCK : 2 * BLOCK);
      last.set(block.subarray(0, length % BLOCK));
      last[length % BLOCK] = 0x80;
      new DataView(last.buffer).setBigUint64(last.length - 8, BigInt(length) * 8n);
      const final = state.slice();
      for (let at = 0; at < last.length; at += BLOCK) compress(final, last.subarray(at, at + BLOCK), schedule);
      return [...final].map((word) => word.toString(16).padStart(8, "0")).join("");
    },
    save() {
      const bytes = new Uint8Array(SAVED_HEAD + (length % BLOCK));
      const view = new DataView(bytes.buffer);
      for (const [word, value] of state.entries()) view.setUint32(word * 4, value);
      view.setBigUint64(WORDS * 4, BigInt(length));
      bytes.set(block.subarray(0, length % BLOCK), SAVED_HEAD);
      return bytes;
    },
  };
}

function compress(state: Uint32Array, block: Uint8Array, schedule: Uint32Array): void {
  const view = new DataView(block.buffer, block.byteOffset, BLOCK);
  for (let at = 0; at < 16; at += 1) schedule[at] = view.getUint32(at * 4);
  for (let at = 16; at < BLOCK; at += 1) {
    const early = schedule[at - 15] ?? 0;
    const late = schedule[at - 2] ?? 0;
    const sigma0 = rotate(early, 7) ^ rotate(early, 18) ^ (early >>> 3);
    const sigma1 = rotate(late, 17) ^ rotate(late, 19) ^ (late >>> 10);
    schedule[at] = (schedule[at - 16] ?? 0) + sigma0 + (schedule[at - 7] ?? 0) + sigma1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state;
  for (let at = 0; at < BLOCK; at += 1) {
    const sum1 = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
    const choice = (e & f) ^ (~e & g);
    const first = (h + sum1 + choice + (ROUND[at] ?? 0) + (schedule[at] ?? 0)) | 0;
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
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = (state[at] ?? 0) + word;
}

function rotate(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

/** The first 64 primes: the constants are the first 32 bits of the fractions of their roots. */
const PRIMES = firstPrimes(BLOCK);
const INITIAL = PRIMES.slice(0, WORDS).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return ((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

function firstPrimes(count: number): number[] {
  const primes: number[] = [];
  for (let candidate = 2; primes.length < count; candidate += 1) {
    if (primes.every((prime) => candidate % prime !== 0)) primes.push(candidate);
  }
  return primes;
}
