/**
 * Exact randomness: a Bernoulli bit compares random bytes with a 128-bit threshold, a uniform
 * integer rejects. Bytes come from `crypto.getRandomValues` alone; there are no seeds.
 */

import { ContractError } from "./errors.js";

export const BITS = 128n;
export const WHOLE = 1n << BITS;
const BUFFER = 512;

/** Draws for one release; made new for every one, so that nothing is left to repeat. */
export class Source {
  #buffer = new Uint8Array(BUFFER);
  #used = BUFFER;

  /** One uniform byte. */
  byte() {
    if (this.#used === BUFFER) {
      globalThis.crypto.getRandomValues(this.#buffer);
      this.#used = 0;
    }
    const value = this.#buffer[this.#used];
    this.#buffer[this.#used++] = 0;
    return value;
  }

  /**
   * True with probability exactly threshold / 2^128.
   *
   * Lazy: the first byte that differs from the threshold's decides, so that one byte is enough
   * in 255 of 256 cases.
   *
   * @param {bigint} threshold from 0 to 2^128
   */
  bernoulli(threshold) {
    if (threshold >= WHOLE) return true;
    for (let shift = BITS - 8n; shift >= 0n; shift -= 8n) {
      const own = Number((threshold >> shift) & 0xffn);
      const drawn = this.byte();
      if (drawn !== own) return drawn < own;
    }
    return false; // all 128 bits are equal: not below
  }

  /**
   * Uniform on 0..bound-1: as many bits as bound - 1 has, drawn again until they are below it.
   *
   * @param {number} bound at least 1 and at most 2^32
   */
  below(bound) {
    if (!(bound >= 1 && bound <= 2 ** 32)) {
      throw new ContractError(`one of ${bound} reports cannot be drawn; there may be 1 to 2^32`);
    }
    const bits = 32 - Math.clz32(bound - 1);
    for (;;) {
      let value = 0;
      for (let done = 0; done < bits; done += 8) {
        const some = Math.min(8, bits - done);
        value = value * 2 ** some + (this.byte() >> (8 - some));
      }
      if (value < bound) return value;
    }
  }

  /**
   * Position k with probability exactly (ends[k] - ends[k-1]) / 2^128.
   *
   * @param {bigint[]} ends rising, the last one 2^128
   */
  pick(ends) {
    let drawn = 0n;
    for (let k = 0; k < 16; k++) drawn = (drawn << 8n) | BigInt(this.byte());
    let low = 0;
    let high = ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (drawn < ends[middle]) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
