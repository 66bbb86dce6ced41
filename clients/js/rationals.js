/** Exact fractions of BigInts, and rigorous bounds of e^x: what a promise is checked with. */

import { ContractError } from "./errors.js";

/** Sums are reduced, so that they stay small; products are not. */
export class Rational {
  constructor(num, den = 1n) {
    if (den === 0n) throw new ContractError("a fraction of the contract has the denominator 0");
    this.num = den < 0n ? -num : num;
    this.den = den < 0n ? -den : den;
  }

  /** Of "3", "1/2", or an exact number. */
  static of(value) {
    if (value instanceof Rational) return value;
    if (typeof value === "bigint") return new Rational(value);
    if (typeof value === "number") return ofDouble(value);
    const match = /^(\d{1,2000})(?:\/(\d{1,2000}))?$/.exec(value);
    if (!match) throw new ContractError(`${value} is not a fraction such as "1/2"`);
    return new Rational(BigInt(match[1]), BigInt(match[2] ?? 1));
  }

  plus(other) {
    if (this.den === other.den) return new Rational(this.num + other.num, this.den);
    const num = this.num * other.den + other.num * this.den;
    const den = this.den * other.den;
    let [a, b] = [num < 0n ? -num : num, den];
    while (b) [a, b] = [b, a % b];
    return new Rational(num / a, den / a);
  }

  minus(other) {
    return this.plus(new Rational(-other.num, other.den));
  }

  times(other) {
    return new Rational(this.num * other.num, this.den * other.den);
  }

  over(other) {
    return new Rational(this.num * other.den, this.den * other.num);
  }

  /** Negative, zero or positive, as this number is below, equal to or above the other. */
  compare(other) {
    const gap = this.num * other.den - other.num * this.den;
    return gap < 0n ? -1 : gap > 0n ? 1 : 0;
  }

  max(other) {
    return this.compare(other) >= 0 ? this : other;
  }

  min(other) {
    return this.compare(other) <= 0 ? this : other;
  }

  /** As a double, to show; numbers below 2^-128 become 0. */
  toNumber() {
    return Number((this.num << 128n) / this.den) / 2 ** 128;
  }
}

export const ONE = new Rational(1n);

/** A double at its exact value. */
function ofDouble(value) {
  if (!Number.isFinite(value)) throw new ContractError(`${value} is not a finite number`);
  let den = 1n;
  let scaled = value;
  while (!Number.isInteger(scaled)) {
    scaled *= 2; // exact: only the exponent changes
    den *= 2n;
  }
  return new Rational(BigInt(scaled), den);
}

/**
 * Bounds of e^x, x >= 0, as integers out of 2^bits: lower <= e^x 2^bits <= upper.
 *
 * e^x = (e^(x / 2^k))^(2^k); the series of the inner power with every term rounded down, or up,
 * and the remainder added: each term is at most half of the one before it.
 */
export function expBounds(x, bits) {
  if (x.num === 0n) return [1n << bits, 1n << bits];
  let halvings = 1n;
  while (x.num << 1n > x.den << halvings) halvings++;
  const one = 1n << bits;
  const below = (x.num << bits) / (x.den << halvings);
  let lower = one;
  let upper = one;
  for (let term = one, i = 1n; term > 0n; i++) {
    term = (term * below) / (one * i);
    lower += term;
  }
  for (let term = one, i = 1n; term > 1n; i++) {
    term = (term * (below + 1n)) / (one * i) + 1n;
    upper += term;
  }
  upper += 2n;
  for (let k = 0n; k < halvings; k++) {
    lower = (lower * lower) >> bits;
    upper = ((upper * upper) >> bits) + 1n;
  }
  return [lower, upper];
}

/** Whether a ratio is at most e^epsilon, decided exactly: bounds are refined until they differ. */
export function atMostExp(ratio, epsilon) {
  if (epsilon.num < 0n) return false;
  for (let bits = 256n; bits <= 4096n; bits *= 2n) {
    const [lower, upper] = expBounds(epsilon, bits);
    if (ratio.num << bits <= lower * ratio.den) return true;
    if (ratio.num << bits > upper * ratio.den) return false;
  }
  return false; // cannot be decided, so it is not promised
}
