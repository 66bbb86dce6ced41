/**
 * Records of several attributes: PMOUE, each attribute's bits at its own part of epsilon.
 *
 * A part is kept in steps of 1/1024, rounded down; the probability of setting another value's bit
 * at k steps is q_k = 1 / (e^(k/1024) + 1), out of 2^128 and rounded up. As `sottovoce.records`.
 */

import { AnswerError, ContractError } from "./errors.js";
import { whole } from "./mechanisms.js";
import { BITS, WHOLE } from "./randomness.js";
import { Rational, atMostExp } from "./rationals.js";

const HALF = WHOLE >> 1n;
const MOST = 20;
const UNREPORTED = 0xffff;
const CLOSE = 1e-6;

export class RecordDrawing {
  /**
   * One level.
   *
   * @param about the mechanism's entry @param canonical the study's own entry of the records, with
   *   the level's `epsilon_average`
   */
  constructor(about, canonical, domains) {
    this.steps = whole(about.steps, 1, 1024, "steps");
    this.average = canonical.epsilon_average;
    this.floor = canonical.floor;
    this.public = canonical.public;
    this.domains = domains;
    this.scale = BigInt(`0x${about.scale}`);
    this.factor = BigInt(`0x${about.factor}`);
    this.table = [];
    this.passed = new Set(); // steps whose threshold was checked
    this.power = this.scale;
    if (!(
      this.average > 0 &&
      this.average <= MOST &&
      this.floor >= 0 &&
      this.floor <= this.average
    )) {
      throw new ContractError(
        `epsilon ${this.average} with a floor of ${this.floor} is not allowed`,
      );
    }
    this.#check(Math.floor(this.average * this.steps));
  }

  /** The threshold of another value's bit at k steps of epsilon. */
  threshold(k) {
    while (this.table.length <= k) {
      const sum = this.power + this.scale;
      const numerator = ((this.scale << BITS) + sum - 1n) / sum + 2n;
      this.table.push(numerator < HALF ? numerator : HALF);
      this.power = (this.power * this.factor) / this.scale;
    }
    return this.table[k];
  }

  /** Refuse a threshold that reveals more than its steps: (1 - q) / q must be at most e^(k/1024). */
  #check(k) {
    if (this.passed.has(k)) return;
    const q = this.threshold(k);
    const epsilon = new Rational(BigInt(k), BigInt(this.steps));
    if (q <= 0n || !atMostExp(new Rational(WHOLE - q, q), epsilon)) {
      throw new ContractError(
        `an answer with epsilon = ${k / this.steps} would be reported with another probability ` +
          "than promised; the collector's contract is wrong or was altered: nothing was drawn",
      );
    }
    this.passed.add(k);
  }

  /** The most that this many answers may spend together, in whole steps: a fraction over `steps`. */
  mostSteps(many) {
    const exact = Rational.of(this.average).times(new Rational(BigInt(many * this.steps)));
    return new Rational(exact.num / exact.den, BigInt(this.steps));
  }

  /** What everyone gets who does not divide: the average for each reported attribute. */
  equal(answers) {
    return answers.map((code) => (code === null ? null : this.average));
  }

  /** An allocation in whole steps, never more than the total in all. */
  inSteps(allocation, answers) {
    const parts = allocation.map((part) => part ?? NaN);
    const reported = parts.filter((part) => !Number.isNaN(part));
    if (parts.length !== this.domains.length || reported.length === 0) {
      throw new AnswerError("an allocation has one part per attribute, null where unreported");
    }
    if (parts.some((part, a) => Number.isNaN(part) !== (answers[a] === null))) {
      throw new AnswerError("an attribute has a part of epsilon exactly where it is reported");
    }
    if (reported.some((part) => !(part >= this.floor && part <= MOST))) {
      throw new AnswerError(
        `each part must be from ${this.floor} to ${MOST}; they are ${reported}`,
      );
    }
    const due = reported.length * this.average;
    const total = reported.reduce((a, b) => a + b);
    if (Math.abs(total - due) > CLOSE * due) {
      throw new AnswerError(`the parts add up to ${total}; they must add up to ${due}`);
    }
    const steps = parts.map((part) =>
      Number.isNaN(part) ? UNREPORTED : Math.floor(part * this.steps),
    );
    const sent = steps.filter((k) => k !== UNREPORTED);
    const most = this.mostSteps(sent.length);
    const excess = sent.reduce((a, b) => a + b) - Number(most.num);
    if (excess > 0) steps[steps.indexOf(Math.max(...sent))] -= excess;
    return steps;
  }

  /** The same, after a check of the threshold at each part. */
  checkedSteps(allocation, answers) {
    const steps = this.inSteps(allocation, answers);
    steps.filter((k) => k !== UNREPORTED).forEach((k) => this.#check(k));
    return steps;
  }

  /** The columns of a report that says nothing: its sender stays silent. */
  silence() {
    const reported = new Uint8Array((this.domains.length + 7) >> 3);
    const total = this.domains.reduce((sum, domain) => sum + domain.size, 0);
    const bits = new Uint8Array((total + 7) >> 3);
    const steps = this.domains.map(() => UNREPORTED);
    return this.public ? { reported, steps, bits } : { reported, bits };
  }

  /** The columns of one report, at the steps of `checkedSteps`. */
  draw(answers, steps, source) {
    const { reported, bits } = this.silence();
    let place = 0;
    this.domains.forEach((domain, a) => {
      if (answers[a] === null) {
        place += domain.size;
        return;
      }
      reported[a >> 3] |= 1 << (a & 7);
      const other = this.threshold(steps[a]);
      for (let v = 0; v < domain.size; v++, place++) {
        if (source.bernoulli(v === answers[a] ? HALF : other)) bits[place >> 3] |= 1 << (place & 7);
      }
    });
    return this.public ? { reported, steps, bits } : { reported, bits };
  }
}

/**
 * Move one slider; the others shrink or grow in proportion, so that the total stays.
 *
 * Proportion is that of what lies above the floor. As `records.allocation.slide`.
 *
 * @param {Array<number|null>} allocation @param {number} which @param {number} value
 */
export function slide(allocation, which, value, floor = 0) {
  const others = allocation.map((_, k) => k).filter((k) => k !== which && allocation[k] !== null);
  const total = allocation.reduce((sum, part) => sum + (part ?? 0), 0);
  const low = Math.max(floor, total - others.length * MOST);
  const high = Math.min(MOST, total - others.length * floor);
  const row = allocation.slice();
  row[which] = Math.min(Math.max(value, low), high);
  const rest = total - row[which];
  const above = others.map((k) => allocation[k] - floor);
  const sum = above.reduce((a, b) => a + b, 0);
  const excess = rest - others.length * floor;
  let parts = above.map((x) => floor + (sum > 0 ? (x * excess) / sum : excess / others.length));
  const over = parts.reduce((a, x) => a + Math.max(x - MOST, 0), 0);
  if (over > 0) {
    const room = parts.map((x) => Math.max(MOST - x, 0));
    const spare = Math.max(
      room.reduce((a, b) => a + b, 0),
      over,
    );
    parts = parts.map((x, k) => Math.min(x, MOST) + (room[k] * over) / spare);
  }
  others.forEach((k, at) => (row[k] = Math.min(Math.max(parts[at], floor), MOST)));
  return row;
}
