/**
 * SHA-256, and AES-128 in counter mode, of public data only.
 *
 * `crypto.subtle` has both, but not on pages that come over plain HTTP from another machine, such
 * as a study tried out on the local network. Nothing secret passes through here, so that timing
 * does not matter.
 */

const PRIMES = [];
for (let n = 2; PRIMES.length < 64; n++) if (PRIMES.every((p) => n % p)) PRIMES.push(n);
const fraction = (x) => Math.floor((x - Math.floor(x)) * 2 ** 32) >>> 0;
const START = PRIMES.slice(0, 8).map((p) => fraction(Math.sqrt(p)));
const ROUND = PRIMES.map((p) => fraction(Math.cbrt(p)));
const rotate = (x, n) => (x >>> n) | (x << (32 - n));

/** @param {Uint8Array} data @returns {Uint8Array} 32 bytes */
export function sha256(data) {
  const padded = new Uint8Array((((data.length + 8) >> 6) + 1) << 6);
  padded.set(data);
  padded[data.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(data.length / 2 ** 29));
  view.setUint32(padded.length - 4, (data.length << 3) >>> 0);
  const state = START.slice();
  const w = new Int32Array(64);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + 4 * i);
    for (let i = 16; i < 64; i++) {
      const a = w[i - 15];
      const b = w[i - 2];
      const early = rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3);
      w[i] = w[i - 16] + early + w[i - 7] + (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = state;
    for (let i = 0; i < 64; i++) {
      const mixed = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25);
      const one = (h + mixed + ((e & f) ^ (~e & g)) + ROUND[i] + w[i]) | 0;
      const spread = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22);
      const two = (spread + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((x, i) => (state[i] = (state[i] + x) | 0));
  }
  const digest = new Uint8Array(32);
  const out = new DataView(digest.buffer);
  state.forEach((x, i) => out.setInt32(4 * i, x));
  return digest;
}

/** SHA-256 of plain data in its canonical form, as `contract.collection.canonical_digest`. */
export function canonicalDigest(kind, text) {
  return toHex(sha256(new TextEncoder().encode(`sottovoce ${kind} v1\n${text}`)));
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function fromHex(text) {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

const twice = (x) => ((x << 1) ^ (x & 0x80 ? 0x11b : 0)) & 0xff;
const BOX = new Uint8Array(256);
for (let p = 1, q = 1, first = true; first || p !== 1; first = false) {
  p = p ^ twice(p); // p runs through all bytes as powers of 3, q through their inverses
  q ^= q << 1;
  q ^= q << 2;
  q ^= q << 4;
  q &= 0xff;
  if (q & 0x80) q ^= 0x09;
  const turn = (n) => ((q << n) | (q >> (8 - n))) & 0xff;
  BOX[p] = q ^ turn(1) ^ turn(2) ^ turn(3) ^ turn(4) ^ 0x63;
}
BOX[0] = 0x63;

function keySchedule(key) {
  const words = new Uint8Array(176);
  words.set(key);
  for (let i = 16, factor = 1; i < 176; i += 4) {
    let last = words.slice(i - 4, i);
    if (i % 16 === 0) {
      last = Uint8Array.of(BOX[last[1]] ^ factor, BOX[last[2]], BOX[last[3]], BOX[last[0]]);
      factor = twice(factor);
    }
    for (let k = 0; k < 4; k++) words[i + k] = words[i + k - 16] ^ last[k];
  }
  return words;
}

const TWICE = Uint8Array.from({ length: 256 }, (_, x) => twice(x));
const SHIFTED = Uint8Array.from({ length: 16 }, (_, i) => (i + 4 * (i % 4)) % 16);

/** The blocks of the AES-128-CTR keystream of a key, from one on; each is valid until the next. */
export function* keystream(key, first = 0) {
  const words = keySchedule(key);
  const counter = new Uint8Array(16);
  new DataView(counter.buffer).setUint32(12, first);
  const state = new Uint8Array(16);
  const next = new Uint8Array(16);
  for (;;) {
    for (let i = 0; i < 16; i++) state[i] = counter[i] ^ words[i];
    for (let round = 1; round <= 10; round++) {
      for (let i = 0; i < 16; i++) next[i] = BOX[state[SHIFTED[i]]];
      if (round < 10) mixColumns(next);
      for (let i = 0; i < 16; i++) state[i] = next[i] ^ words[16 * round + i];
    }
    yield state;
    let k = 15;
    while (++counter[k] > 255) k--; // the byte itself has wrapped to 0
  }
}

function mixColumns(t) {
  for (let c = 0; c < 16; c += 4) {
    const [a, b, d, e] = [t[c], t[c + 1], t[c + 2], t[c + 3]];
    const every = a ^ b ^ d ^ e;
    t[c] ^= every ^ TWICE[a ^ b];
    t[c + 1] ^= every ^ TWICE[b ^ d];
    t[c + 2] ^= every ^ TWICE[d ^ e];
    t[c + 3] ^= every ^ TWICE[e ^ a];
  }
}
