/** What may be answered: values, options, bins of numbers, or a range. As `sottovoce.domain`. */

import { AnswerError, ContractError } from "./errors.js";

const NO_ANSWER = "no answer";
const SEPARATOR = ";";
const MOST_VALUES = 2 ** 31;
const number = (text) => Number(text.replace("inf", "Infinity"));

export class Domain {
  /** @param {Object} about the entry of the study's canonical form */
  constructor(about) {
    this.name = about.name ?? "";
    this.missing = about.missing;
    this.range = about.range ? about.range.map(Number) : null;
    this.clip = Boolean(about.clip);
    this.edges = about.edges ? about.edges.map(number) : null;
    this.values = about.values ?? [];
    this.wording = about.labels ?? null;
    this.most = about.most ?? null; // of options, how many may be chosen
    if (this.range) {
      this.size = 0;
      return;
    }
    const listed = typeof this.values === "number" ? this.values : this.values.length;
    this.size = listed + (this.missing === "value" ? 1 : 0);
    if (!Number.isInteger(this.size) || this.size < 2 || this.size > MOST_VALUES)
      throw new ContractError(`the question ${this.name} has not 2 to ${MOST_VALUES} values`);
    if (this.wording && this.wording.length !== listed)
      throw new ContractError(`the question ${this.name} has not one label per value`);
  }

  get numeric() {
    return this.range !== null;
  }

  /** Whether an answer is a set of the values, "choose all that apply". */
  get several() {
    return this.most !== null;
  }

  /** How many values a report is about: of options, "nothing else" is one more. */
  get reported() {
    return this.size + (this.several ? 1 : 0);
  }

  /** The value at a position, as the study lists it: what is sent. */
  label(code) {
    if (this.missing === "value" && code === this.size - 1) return NO_ANSWER;
    if (typeof this.values === "number") return code;
    return this.values[code];
  }

  /** The same for people: the study's wording, bins in words. */
  words(code) {
    if (this.several && code === this.size)
      return this.most > 1 ? "no further option" : "none of them";
    if (this.missing === "value" && code === this.size - 1) return NO_ANSWER;
    if (this.wording) return this.wording[code];
    if (!this.edges) return String(this.label(code));
    const [low, high] = [this.edges[code], this.edges[code + 1]];
    if (low === -Infinity) return `below ${high}`;
    if (high === Infinity) return `${low} or more`;
    return code === this.edges.length - 2 ? `${low} to ${high}` : `${low} to below ${high}`;
  }

  /** Position of an answer; null, where it may be missing, gives null or "no answer". */
  code(answer) {
    if (answer === null || answer === undefined) return this.#absent();
    const code = this.edges && typeof answer === "number" ? this.#bin(answer) : this.#place(answer);
    if (code < 0) throw new AnswerError(`${answer} is not among the answers to ${this.name}`);
    return code;
  }

  /**
   * Positions of a set of options, in order: of an array or Set of them, or of text with ";"
   * between them. None is an answer, too.
   */
  codes(answer) {
    if (answer === null || answer === undefined) return this.#absent();
    const some =
      typeof answer === "string"
        ? answer.split(SEPARATOR).map((part) => part.trim())
        : [...answer];
    const chosen = new Set(some.filter((part) => part !== "").map((option) => this.code(option)));
    if (chosen.size > this.most) {
      throw new AnswerError(
        `${chosen.size} options of ${this.name} were chosen; at most ${this.most} may be`,
      );
    }
    return [...chosen].sort((a, b) => a - b);
  }

  #place(answer) {
    if (this.missing === "value" && answer === NO_ANSWER) return this.size - 1;
    if (typeof this.values !== "number") return this.values.indexOf(answer);
    return Number.isInteger(answer) && answer >= 0 && answer < this.values ? answer : -1;
  }

  #bin(answer) {
    const last = this.edges.length - 1;
    if (answer === this.edges[last]) return last - 1; // the last bin includes its upper edge
    return this.edges.findIndex(
      (low, k) => k < last && low <= answer && answer < this.edges[k + 1],
    );
  }

  /** Where a number lies between the bounds, from 0 to 1. */
  position(answer) {
    if (answer === null || answer === undefined) return this.#absent();
    const [low, high] = this.range;
    const value = this.clip ? Math.min(Math.max(answer, low), high) : answer;
    if (typeof value !== "number" || !(value >= low && value <= high)) {
      throw new AnswerError(`${answer} is not a number from ${low} to ${high}`);
    }
    return Math.min(Math.max((value - low) / (high - low), 0), 1);
  }

  #absent() {
    if (this.missing === "value") return this.size - 1;
    if (this.missing === "public") return null;
    throw new AnswerError(`${this.name || "the question"} needs an answer`);
  }
}
