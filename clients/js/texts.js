/**
 * Texts that nobody declared, as `sottovoce.heavy`: a depth is drawn uniformly, and the prefix of
 * that length is reported by a pure mechanism with the whole epsilon.
 */

import { fromHex, keystream, sha256 } from "./digests.js";
import { AnswerError, ContractError } from "./errors.js";
import { PURE, hashParts, hashWords, respond, spread, threshold, whole } from "./mechanisms.js";
import { WHOLE } from "./randomness.js";
import { Rational } from "./rationals.js";

const MOST_LENGTH = 255;
const LISTED = 2n ** 24n;

/** What may be answered: at most `length` characters of a public alphabet. */
export class Text {
  /**
   * @param {Object} about the entry of the study's canonical form
   * @param {number} step by how many characters prefixes grow
   */
  constructor(about, step) {
    this.name = about.name;
    this.text = true;
    this.missing = "refuse";
    this.most = null;
    this.alphabet = [...about.alphabet];
    this.length = whole(about.length, 1, MOST_LENGTH, "length");
    this.cuts = about.longer === "cut";
    this.other = about.other;
    this.symbols = new Map(this.alphabet.map((symbol, k) => [symbol, k + 1]));
    if (this.symbols.size !== this.alphabet.length || this.symbols.size === 0)
      throw new ContractError(`the alphabet of ${this.name} is empty or has a symbol twice`);
    if (this.other !== null && !this.symbols.has(this.other))
      throw new ContractError(`${this.other} is not in the alphabet of ${this.name}`);
    const many = Math.ceil(this.length / whole(step, 1, this.length, "step"));
    this.lengths = Array.from({ length: many }, (_, k) =>
      Math.ceil((this.length * (k + 1)) / many),
    );
  }

  /** How many symbols there are, the end of a text included. */
  get base() {
    return this.alphabet.length + 1;
  }

  /** What is wrong with an answer, or nothing. */
  fault(answer) {
    if (typeof answer !== "string") return "an answer is a text; the empty one is an answer, too";
    const symbols = [...answer];
    if (symbols.length > this.length && !this.cuts)
      return `at most ${this.length} characters are allowed; there are ${symbols.length}`;
    const strange = symbols
      .slice(0, this.length)
      .find((symbol) => symbol === "\0" || (this.other === null && !this.symbols.has(symbol)));
    return strange === undefined ? "" : `the character “${strange}” is not allowed`;
  }

  /** A row of symbols, 1 for the first of the alphabet; zeros after the end. */
  code(answer) {
    const fault = this.fault(answer);
    if (fault) throw new AnswerError(`${this.name}: ${fault}`);
    const symbols = [...answer].slice(0, this.length);
    return Array.from({ length: this.length }, (_, k) =>
      k < symbols.length
        ? (this.symbols.get(symbols[k]) ?? this.symbols.get(this.other))
        : 0,
    );
  }
}

/** Local hashing of codes of two halves: `heavy.oracles.Hashed`. */
const hashed = {
  read(about) {
    const word = whole(about.word_bits, 3, 32, "word_bits");
    const bucket = whole(about.bucket_bits, 1, Math.min(10, word - 1), "bucket_bits");
    const codes = 1n << BigInt(2 * (word - bucket));
    return { word, bucket, codes, keep: threshold(about.keep, "keep") };
  },
  draw(m, code, source) {
    const hash = hashWords(m, source);
    const half = BigInt(m.word - m.bucket);
    const halves = [code >> half, code & ((1n << half) - 1n)].map(Number);
    return { ...hash, y: respond(source, hashParts(m, hash, halves), 2 ** m.bucket, m.keep) };
  },
  ratio: (m) => spread(m.keep, 1, 2 ** m.bucket - 1),
  fit: (m) => [new Rational(m.keep, WHOLE), new Rational(1n, 1n << BigInt(m.bucket))],
};

/** Any pure mechanism over all codes, where there are few: `heavy.oracles.Listed`. */
function listed(kind) {
  return {
    read(about, size, collection) {
      if (size > LISTED) throw new ContractError(`${size} texts are too many to list`);
      return { ...kind.read(about, Number(size), collection), codes: size };
    },
    draw: (m, code, source) => kind.draw(m, Number(code), source),
    ratio: kind.ratio,
    fit: kind.fit,
  };
}

export const texts = {
  read(about, size, collection) {
    const id = about.by?.id;
    if (!Object.hasOwn(PURE, id)) throw new ContractError(`${id} cannot report a prefix`);
    const [text] = collection.domains;
    const by = id === "olh" ? hashed : listed(PURE[id]);
    const all = BigInt(text.base) ** BigInt(text.length);
    return { by, text, digest: collection.digest, inner: by.read(about.by, all, collection) };
  },
  draw(m, row, source) {
    const depth = source.below(m.text.lengths.length);
    const code = prefixCode(m, row.slice(0, m.text.lengths[depth]));
    return { depth, ...m.by.draw(m.inner, code, source) };
  },
  // The depth does not depend on the text, so that the prefix alone tells two texts apart.
  ratio: (m) => m.by.ratio(m.inner),
  fit: (m) => m.by.fit(m.inner),
};

/**
 * The code of a prefix: its number in base |alphabet| + 1, or where these are too many, the
 * exclusive or of a public random word per position and symbol: `heavy.prefixes.Numbering`.
 */
function prefixCode({ text, digest, inner }, row) {
  const base = BigInt(text.base);
  if (base ** BigInt(row.length) <= inner.codes)
    return row.reduce((sum, symbol) => sum * base + BigInt(symbol), 0n);
  const label = new TextEncoder().encode("sottovoce prefixes v1\n");
  const about = Uint8Array.of(...label, row.length, 0, ...fromHex(digest));
  const key = sha256(about).slice(0, 16);
  const word = (place) => {
    const block = keystream(key, place >> 1).next().value;
    return new DataView(block.buffer).getBigUint64(8 * (place & 1), true);
  };
  const joined = row.reduce((sum, symbol, k) => sum ^ word(k * text.base + symbol), 0n);
  return joined & (inner.codes - 1n);
}
