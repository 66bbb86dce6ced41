/**
 * Every mechanism of the registry: how a report is drawn, and how much it can reveal.
 *
 * `read(about)` checks the numbers of the contract and turns thresholds into BigInts; `draw` makes
 * the columns of one report from a code (for numbers a position from 0 to 1, for options a list of
 * codes); `ratio` is the largest P(report | answer) / P(report | another answer), exactly, or for
 * options a bound of it; `fits` says whether a report agrees with an answer, and `fit` how likely
 * that is for people who gave it and for others.
 * Formulas and sources: `sottovoce/mechanisms/*.py`.
 */

import { fromHex, keystream, sha256 } from "./digests.js";
import { ContractError } from "./errors.js";
import { WHOLE } from "./randomness.js";
import { Rational } from "./rationals.js";

/** A 128-bit threshold of the contract, strictly between 0 and 2^128. */
export function threshold(text, what) {
  const value = /^[0-9a-f]{32}$/.test(text) ? BigInt(`0x${text}`) : 0n;
  if (value === 0n) {
    throw new ContractError(`${what} is ${text}; it must be 32 hex digits, not all 0`);
  }
  return value;
}

export function whole(value, low, high, what) {
  if (!Number.isSafeInteger(value) || value < low || value > high) {
    throw new ContractError(
      `${what} is ${value}; it must be a whole number from ${low} to ${high}`,
    );
  }
  return value;
}

const part = (value) => new Rational(value, WHOLE);
const big = BigInt;

/** `inside` spread over some reports against the rest spread over others, and the inverse. */
export function spread(inside, some, others) {
  const ratio = new Rational(inside * big(others), (WHOLE - inside) * big(some));
  return ratio.max(new Rational(ratio.den, ratio.num));
}

/** Keep a code below `size`, or report one of the others. */
export function respond(source, code, size, keep) {
  const kept = source.bernoulli(keep);
  const other = source.below(size - 1);
  return kept ? code : other + (other >= code ? 1 : 0);
}

function setBit(bits, place) {
  bits[place >> 3] |= 1 << (place & 7);
}

const hasBit = (bits, place) => ((bits[place >> 3] >> (place & 7)) & 1) === 1;

const grr = {
  read: (about, size) => ({ size, keep: threshold(about.keep, "keep") }),
  draw: (m, code, source) => ({ value: respond(source, code, m.size, m.keep) }),
  ratio: (m) => spread(m.keep, 1, m.size - 1),
  fits: (m, { value }, code) => value === code,
  fit: (m) => [part(m.keep), new Rational(WHOLE - m.keep, WHOLE * big(m.size - 1))],
};

const unary = {
  read: (about, size) => ({
    size,
    true_bit: threshold(about.true_bit, "true_bit"),
    other_bit: threshold(about.other_bit, "other_bit"),
  }),
  draw(m, code, source) {
    const bits = new Uint8Array((m.size + 7) >> 3);
    for (let v = 0; v < m.size; v++) {
      if (source.bernoulli(v === code ? m.true_bit : m.other_bit)) setBit(bits, v);
    }
    return { bits };
  },
  ratio({ true_bit: p, other_bit: q }) {
    const ratio = new Rational(p * (WHOLE - q), q * (WHOLE - p));
    return ratio.max(new Rational(ratio.den, ratio.num));
  },
  fits: (m, { bits }, code) => hasBit(bits, code),
  fit: (m) => [part(m.true_bit), part(m.other_bit)],
};

const subset = {
  read: (about, size) => ({
    size,
    omega: whole(about.omega, 1, size - 1, "omega"),
    holds: threshold(about.holds, "holds"),
  }),
  draw(m, code, source) {
    const holds = source.bernoulli(m.holds);
    const many = m.omega - (holds ? 1 : 0);
    const bits = new Uint8Array((m.size + 7) >> 3);
    const left = choose(source, m.size - 1, many);
    for (let other = 0; other < m.size - 1; other++) {
      if (left[other]) setBit(bits, other + (other >= code ? 1 : 0));
    }
    if (holds) setBit(bits, code);
    return { bits };
  },
  ratio: (m) => spread(m.holds, m.omega, m.size - m.omega),
  fits: (m, { bits }, code) => hasBit(bits, code),
  fit(m) {
    const p = part(m.holds);
    const others = p
      .times(new Rational(big(m.omega - 1)))
      .plus(new Rational(1n).minus(p).times(new Rational(big(m.omega))));
    return [p, others.over(new Rational(big(m.size - 1)))];
  },
};

/** A uniform set of `many` of `size` places, as flags (Floyd's algorithm). */
function choose(source, size, many) {
  const marked = new Uint8Array(size);
  for (let last = size - many; last < size; last++) {
    const place = source.below(last + 1);
    marked[marked[place] ? last : place] = 1;
  }
  return marked;
}

const olh = {
  read(about, size, { digest }) {
    const word = whole(about.word_bits, 2, 32, "word_bits");
    const parts = whole(about.parts ?? 1, 1, 2, "parts");
    const half = word >> 1;
    const bucket = whole(about.bucket_bits, 1, parts > 1 ? word - half : word - 1, "bucket_bits");
    if (size > 2 ** (parts > 1 ? 2 * half : word - bucket))
      throw new ContractError(`${size} values do not fit the hash`);
    const keep = threshold(about.keep, "keep");
    return { size, word, bucket, parts, half, keep, digest, codes: null };
  },
  draw(m, code, source) {
    const hash =
      m.parts > 1
        ? hashWords(m, source)
        : { a: 2 * source.below(2 ** (m.word - 1)) + 1, b: source.below(2 ** m.word) };
    return { ...hash, y: respond(source, bucketOf(m, hash, code), 2 ** m.bucket, m.keep) };
  },
  ratio: (m) => spread(m.keep, 1, 2 ** m.bucket - 1),
  fits: (m, { y, ...hash }, code) => bucketOf(m, hash, code) === y,
  fit: (m) => [part(m.keep), new Rational(1n, 1n << big(m.bucket))],
};

/** h(v) = ((a c_v + b) mod 2^W) >> (W - l), or with codes of two halves (a1 c1 + a2 c2 + b). */
function bucketOf(m, hash, code) {
  if (m.parts > 1) return hashParts(m, hash, pairCode(m, code));
  m.codes ??= hashCodes(m.digest, m.size, m.word - m.bucket);
  return topBits(m, Math.imul(hash.a, m.codes[code]) + hash.b);
}

/** A hash function of two multipliers. */
export function hashWords({ word }, source) {
  return { a1: source.below(2 ** word), a2: source.below(2 ** word), b: source.below(2 ** word) };
}

/** The bucket of a code of two halves. */
export function hashParts(m, { a1, a2, b }, [high, low]) {
  return topBits(m, Math.imul(a1, high) + Math.imul(a2, low) + b);
}

const topBits = ({ word, bucket }, sum) => ((sum << (32 - word)) >>> 0) >>> (32 - bucket);

/** The two halves of a value's public code: a Feistel network keyed by the digest. */
function pairCode(m, code) {
  m.keys ??= new DataView(keyOf("sottovoce olh pairs v1\n", m.digest).buffer);
  const mask = 2 ** m.half - 1;
  let [high, low] = [code >>> m.half, code & mask];
  for (let round = 0; round < 16; round += 4) {
    let x = (low + m.keys.getUint32(round, true)) | 0;
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
    [high, low] = [low, high ^ ((x ^ (x >>> 16)) & mask)];
  }
  return [high, low];
}

function keyOf(label, digest) {
  return sha256(Uint8Array.of(...new TextEncoder().encode(label), ...fromHex(digest))).slice(0, 16);
}

/** Public codes of the values: the first distinct integers of a keystream keyed by the digest. */
function hashCodes(digest, size, bits) {
  const key = keyOf("sottovoce olh codes v1\n", digest);
  const codes = new Set();
  for (const block of keystream(key)) {
    const view = new DataView(block.buffer);
    for (let k = 0; k < 16 && codes.size < size; k += 4)
      codes.add(view.getUint32(k, true) >>> (32 - bits));
    if (codes.size === size) return Uint32Array.from(codes);
  }
  return null;
}

const hadamard = {
  read(about, size) {
    const blocks = whole(about.blocks, 1, 2 ** 11, "blocks");
    const width = whole(about.block_size, 2, 2 ** 32, "block_size");
    if (blocks * width > 2 ** 32) {
      throw new ContractError(`${blocks} blocks of ${width} are more reports than can be drawn`);
    }
    if (width & (width - 1) || Math.ceil(size / blocks) >= width) {
      throw new ContractError(
        `block_size is ${width}; ${size} values in ${blocks} blocks need a larger power of two`,
      );
    }
    return { size, blocks, width, inside: threshold(about.inside, "inside") };
  },
  draw(m, code, source) {
    const block = code % m.blocks;
    const column = Math.floor(code / m.blocks) + 1;
    const half = m.width / 2;
    const inside = source.bernoulli(m.inside);
    const place = source.below(inside ? half : m.blocks * m.width - half);
    if (inside) return { y: block * m.width + withParity(place, column, 0) };
    if (place < half) return { y: block * m.width + withParity(place, column, 1) };
    const other = place - half;
    return { y: other + (other >= block * m.width ? m.width : 0) };
  },
  ratio: (m) => spread(m.inside, m.width / 2, m.blocks * m.width - m.width / 2),
  fits(m, { y }, code) {
    const column = Math.floor(code / m.blocks) + 1;
    return Math.floor(y / m.width) === code % m.blocks && parity((y % m.width) & column) === 0;
  },
  fit(m) {
    const half = big(m.width / 2);
    const outside = new Rational(
      (WHOLE - m.inside) * half,
      WHOLE * (big(m.blocks * m.width) - half),
    );
    // Another answer of the same block agrees in half of its own reports.
    return [
      part(m.inside),
      m.blocks > 1 ? outside : part(m.inside).plus(outside).over(new Rational(2n)),
    ];
  },
};

/** The number r with this parity of r & column whose bits, less the column's top one, are `place`. */
function withParity(place, column, odd) {
  const top = 31 - Math.clz32(column);
  const high = Math.floor(place / 2 ** top);
  const r = high * 2 ** (top + 1) + (place % 2 ** top);
  return parity(r & column) === odd ? r : r + 2 ** top;
}

function parity(x) {
  let folded = x;
  for (let shift = 16; shift > 0; shift >>= 1) folded ^= folded >>> shift;
  return folded & 1;
}

const projective = {
  read(about, size) {
    const prime = whole(about.prime, 2, 2 ** 26, "prime");
    const dimension = whole(about.dimension, 2, 26, "dimension");
    const outputs = points(prime, dimension);
    if (outputs < size || outputs > 2 ** 26) {
      throw new ContractError(`${size} values do not fit ${outputs} points, or these are too many`);
    }
    if (!isPrime(prime)) throw new ContractError(`${prime} is not a prime`);
    return { size, prime, dimension, inside: threshold(about.inside, "inside") };
  },
  draw(m, code, source) {
    const { prime: w, dimension: t } = m;
    const value = valueVector(m, code);
    const at = value.findLastIndex((x) => x > 0); // this coordinate solves the equation
    const inside = source.bernoulli(m.inside);
    const place = source.below(inside ? points(w, t - 1) : w ** (t - 1));
    const tail = points(w, t - 1 - at); // outputs that begin after it
    const power = w ** (t - 1 - at);
    if (inside && place < tail) return { y: place };
    if (!inside && place < power) return { y: tail + place }; // they begin there
    const pick = inside ? place - tail : Math.floor((place - power) / (w - 1));
    const prefix = Math.floor(pick / power);
    const missed = inside ? 0 : 1 + ((place - power) % (w - 1));
    const sum = dot(outputVector(m, prefix, at), value) % w;
    const solved = (missed + w - sum) % w;
    return { y: (w * prefix + 1 + solved) * power + tail + (pick % power) };
  },
  ratio: (m) => spread(m.inside, points(m.prime, m.dimension - 1), m.prime ** (m.dimension - 1)),
  fits: (m, { y }, code) =>
    dot(outputVector(m, y, m.dimension), valueVector(m, code)) % m.prime === 0,
  fit(m) {
    const [s, common] = [1, 2].map((less) => big(points(m.prime, m.dimension - less)));
    const outside = big(m.prime ** (m.dimension - 1));
    const other = new Rational(m.inside * common, WHOLE * s).plus(
      new Rational((WHOLE - m.inside) * (s - common), WHOLE * outside),
    );
    return [part(m.inside), other];
  },
};

/** How many vectors of that many integers modulo `prime` there are, up to a factor. */
function points(prime, dimension) {
  let many = 0;
  for (let k = 0; k < dimension; k++) many = many * prime + 1;
  return many;
}

function isPrime(number) {
  for (let k = 2; k * k <= number; k++) if (number % k === 0) return false;
  return true;
}

const dot = (u, v) => u.reduce((sum, x, k) => sum + x * v[k], 0);

/** The coordinates of a value; the last that is not 0 is 1. */
function valueVector({ prime, dimension }, code) {
  const vector = Array(dimension).fill(0);
  let [last, rest] = [0, code];
  while (rest >= prime ** last) rest -= prime ** last++;
  vector[last] = 1;
  for (let k = last - 1; k >= 0; k--) {
    vector[k] = rest % prime;
    rest = Math.floor(rest / prime);
  }
  return vector;
}

/** The coordinates of an output of this length; the first that is not 0 is 1. */
function outputVector({ prime }, output, length) {
  const vector = Array(length).fill(0);
  let [node, k] = [output, length - 1];
  for (; node > 0; k--) {
    vector[k] = (node - 1) % prime;
    node = Math.floor((node - 1) / prime);
  }
  vector[k] = 1;
  return vector;
}

const lip = {
  read(about, size) {
    if (about.rows) {
      if (about.rows.length !== size)
        throw new ContractError("the channel has not one row per value");
      const rows = about.rows.map((row) => row.map((cell) => threshold(cell, "a cell")));
      if (rows.some((row) => row.length !== rows[0].length))
        throw new ContractError("the rows of the channel are not over the same reports");
      rows.forEach(ends); // before anyone answers, so that no answer alone is refused
      return { size, rows };
    }
    if (about.rest.length !== size)
      throw new ContractError("the channel has not one entry per value");
    const keep = threshold(about.keep, "keep");
    const rest = about.rest.map((cell) => threshold(cell, "rest"));
    return { size, keep, rest, ends: ends([keep, ...rest]) };
  },
  draw(m, code, source) {
    if (m.rows) return { value: source.pick(ends(m.rows[code])) };
    const place = source.pick(m.ends);
    return { value: place === 0 ? code : place - 1 };
  },
  ratio(m) {
    const columns = m.rows
      ? m.rows[0].map((_, y) => m.rows.map((row) => row[y]))
      : m.rest.map((cell) => [cell, cell + m.keep]);
    return columns
      .map((column) => new Rational(column.reduce(most), column.reduce(least)))
      .reduce((a, b) => a.max(b));
  },
  fits: (m, { value }, code) => (m.rows ? likely(m.rows, value, code) : value === code),
  fit(m) {
    if (m.rows) return [part(m.rows[0].reduce(most)), part(m.rows[0].reduce(least))];
    const rest = m.rest.reduce((a, b) => a + b) / big(m.size);
    return [part(rest + m.keep), part(rest)];
  },
};

/** Whether a report is at least as likely from this answer as from the average one. */
function likely(rows, value, code) {
  const sum = rows.reduce((total, row) => total + row[value], 0n);
  return rows[code][value] * big(rows.length) >= sum;
}

const most = (a, b) => (a > b ? a : b);
const least = (a, b) => (a < b ? a : b);

function ends(sizes) {
  let sum = 0n;
  const sums = sizes.map((size) => (sum += size));
  if (sum !== WHOLE) throw new ContractError("the probabilities of a row do not add up to 1");
  return sums;
}

const numbers = {
  read(about) {
    const grids = about.grids.map((grid) => ({
      steps: whole(grid.steps, 1, 2 ** 15, "steps"),
      window: whole(grid.window, 1, 2 ** 15, "window"),
      inside: threshold(grid.inside, "inside"),
    }));
    if (grids.length < 1 || grids.length > 2)
      throw new ContractError("there must be one grid or two");
    const finest = grids.length > 1 ? threshold(about.finest, "finest") : null;
    return { grids, finest };
  },
  draw(m, position, source) {
    const which = m.finest !== null && source.bernoulli(m.finest) ? 1 : 0;
    const { steps, window, inside } = m.grids[which];
    const scaled = position * steps;
    let i = Math.min(Math.floor(scaled), steps);
    const above = scaled - i;
    // Rounded without bias, by 53 random bits; there is nothing to draw at a point of the grid.
    if (above > 0 && source.bernoulli(big(Math.ceil(above * 2 ** 53)) << 75n)) i++;
    const near = source.bernoulli(inside);
    const pick = source.below(near ? window : steps);
    const cell = near ? i + pick : pick + (pick >= i ? window : 0);
    return m.grids.length > 1 ? { grid: which, cell } : { cell };
  },
  ratio: (m) => m.grids.map((g) => spread(g.inside, g.window, g.steps)).reduce((a, b) => a.max(b)),
  fit(m) {
    const { steps, window, inside } = m.grids[m.grids.length - 1];
    const far = new Rational((WHOLE - inside) * big(Math.min(window, steps)), WHOLE * big(steps));
    return [part(inside), far];
  },
};

/** What can report one option that was drawn of several. */
export const PURE = { grr, sue: unary, oue: unary, subset, olh };

/**
 * Choose all that apply: one of the person's options, padded to the most with "nothing else", drawn
 * uniformly and reported by a pure mechanism over the options and "nothing else".
 */
const chooseAll = {
  read(about, size, collection) {
    const id = about.by?.id;
    if (!Object.hasOwn(PURE, id)) throw new ContractError(`${id} cannot report a drawn option`);
    const most = whole(collection.domains[0].most, 1, size, "most");
    return { most, by: PURE[id], inner: PURE[id].read(about.by, size + 1, collection), size };
  },
  draw(m, codes, source) {
    const place = source.below(m.most);
    return m.by.draw(m.inner, codes[place] ?? m.size, source);
  },
  // A mixture of laws differs from another by no more than the laws themselves do.
  ratio: (m) => m.by.ratio(m.inner),
  fits: (m, report, code) => m.by.fits(m.inner, report, code),
  fit(m) {
    const [p, q] = m.by.fit(m.inner);
    return [q.plus(p.minus(q).over(new Rational(big(m.most)))), q];
  },
};

export const MECHANISMS = {
  ...PURE,
  hadamard,
  projective,
  lip,
  duchi: numbers,
  piecewise: numbers,
  hybrid: numbers,
  "choose-all": chooseAll,
};
