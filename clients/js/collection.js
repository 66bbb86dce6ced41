/** One question, or records: its ways to take part, its reports, and its own check of both. */

import { Domain } from "./domains.js";
import { AnswerError, ContractError } from "./errors.js";
import { MECHANISMS, threshold } from "./mechanisms.js";
import { beliefFall, beliefRatio, checkPromises } from "./promises.js";
import { Source, WHOLE } from "./randomness.js";
import { Rational, atMostExp } from "./rationals.js";
import { RecordDrawing } from "./records.js";
import { Text, texts } from "./texts.js";
import { decode, encode } from "./wire.js";

const DTYPES = new Set(["u1", "u2", "u4"]);
const KINDS = { ...MECHANISMS, "heavy-hitters": texts };

/** A level of the menu, or the only one: a mechanism, its rates and what it promises. */
class Level {
  constructor(about, own, collection) {
    this.name = about.name;
    this.promises = about.promises;
    this.guarantee = about.guarantee;
    this.rates = about.rates.map(Number);
    this.coins = about.coins;
    this.mechanism = about.mechanism.id;
    const where = `“${collection.name}”${this.name === null ? "" : `, level “${this.name}”,`}`;
    same(where, "levels", own.name, this.name);
    same(where, "mechanisms", own.mechanism, this.mechanism);
    same(where, "mechanisms", own.parameters.by, about.mechanism.by?.id);
    same(where, "rates", own.rates.map(Number).join(), this.rates.join());
    this.rates.forEach((rate, k) => {
      const exact = Rational.of(rate).times(new Rational(WHOLE));
      const coin = rate > 0 && rate < 1 ? exact.num / exact.den : null;
      const stated = this.coins[k] === null ? null : threshold(this.coins[k], "the coin of a rate");
      if (coin !== stated)
        throw new ContractError(`${where}: the coin of rate ${rate} has another threshold`);
    });
    if (this.mechanism === "pmoue") {
      this.drawing = new RecordDrawing(about.mechanism, own.parameters, collection.domains);
      // What is spent is a whole number of steps, so the total is rounded down to one.
      const total = this.drawing.mostSteps(collection.domains.length);
      const stated = (what) => {
        const some = this.promises.filter(({ protects }) => protects === what);
        return some.map((promise) => Rational.of(promise.epsilon));
      };
      const [records, answers] = [stated("record"), stated("answer")];
      if (!records.length || records.some((epsilon) => epsilon.compare(total) < 0)) {
        throw new ContractError(`${where}: a record's promise is not the total of its attributes`);
      }
      const average = Rational.of(this.drawing.average);
      const equal = answers.filter((epsilon) => epsilon.compare(average) === 0);
      same(where, "epsilon", equal.length, Math.max(answers.length, 1));
      const known = this.promises.filter(({ notion }) => notion === "ldp");
      same(where, "promises", known.length, records.length + answers.length);
      same(where, "promises", known.length, this.promises.length);
      return;
    }
    if (!Object.hasOwn(KINDS, this.mechanism)) {
      throw new ContractError(`${where}: there is no mechanism ${this.mechanism} here`);
    }
    this.kind = KINDS[this.mechanism];
    const [domain] = collection.domains;
    if (
      Boolean(domain.several) !== (this.mechanism === "choose-all") ||
      Boolean(domain.text) !== (this.mechanism === "heavy-hitters")
    ) {
      throw new ContractError(`${where}: ${this.mechanism} does not fit the kind of answers`);
    }
    this.drawing = this.kind.read(about.mechanism, domain.size, collection);
    const level = () => beliefRatio(this.drawing, own.parameters);
    checkPromises(where, this.promises, this.kind.ratio(this.drawing), level);
    const epsilon = Rational.of(own.parameters.epsilon);
    if (own.parameters.variant === "jiang-theorem2") {
      // It promises more than the study's epsilon; what it keeps of that is checked instead.
      const kept = atMostExp(beliefFall(this.drawing, own.parameters), epsilon);
      same(where, "probabilities", kept, true);
      return;
    }
    const [promise] = this.promises;
    same(where, "epsilon", epsilon.compare(Rational.of(promise.epsilon)), 0);
  }

  /** The largest epsilon that holds whatever others believe beforehand. */
  get epsilon() {
    const free = this.promises.filter(({ notion }) => notion === "ldp");
    return Math.max(...free.map(({ epsilon }) => Rational.of(epsilon).toNumber()));
  }

  /** Of 100 people who give an answer, and of 100 who give another: how many reports fit it. */
  fit(epsilon = null) {
    if (this.kind) return this.kind.fit(this.drawing).map((p) => p.toNumber());
    const part = epsilon ?? this.drawing.average;
    return [0.5, 1 / (Math.exp(part) + 1)];
  }
}

function same(where, what, own, stated) {
  if (own === stated) return;
  throw new ContractError(
    `${where}: the ${what} of the contract are not those that its digest covers`,
  );
}

/** The study's own entry of a question as levels, whether it has a menu or not. */
function ownLevels(canonical) {
  if (canonical.schema) {
    const menu = canonical.levels ?? [[null, canonical.epsilon_average]];
    return menu.map(([name, average]) => ({
      name,
      mechanism: "pmoue",
      rates: [canonical.rate ?? "1"],
      parameters: { ...canonical, epsilon_average: average },
    }));
  }
  if (canonical.text) {
    const parameters = { by: canonical.mechanism, epsilon: canonical.epsilon };
    return [{ name: null, mechanism: canonical.collection, rates: ["1"], parameters }];
  }
  if (canonical.mechanism === "participation") return canonical.parameters.levels;
  const { mechanism, parameters } = canonical;
  return [{ name: null, mechanism, rates: ["1"], parameters }];
}

export class Collection {
  /**
   * @param about its entry in the contract
   * @param canonical its entry in the canonical form that the digest covers
   */
  constructor(about, canonical) {
    this.name = about.name;
    this.id = about.id;
    this.digest = about.digest;
    this.layout = about.layout;
    this.records = Boolean(canonical.schema);
    this.domains = canonical.text
      ? [new Text(canonical.text, canonical.step)]
      : (canonical.schema ?? [canonical.domain]).map((one) => new Domain(one));
    const own = ownLevels(canonical);
    const id = this.records ? "pmoue" : (canonical.collection ?? canonical.mechanism);
    same(this.name, "ids", id, this.id);
    same(this.name, "levels", own.length, about.levels.length);
    this.levels = about.levels.map((level, k) => new Level(level, own[k], this));
    for (const [, dtype] of this.layout) {
      if (!DTYPES.has(dtype)) throw new ContractError(`there is no column of ${dtype}`);
    }
    this.columns = new Set(this.layout.map(([name]) => name));
    this.sampled = this.levels.some(({ rates }) => rates.some((rate) => rate < 1));
    this.ways = this.levels.reduce((sum, { rates }) => sum + rates.length, 0);
  }

  /** The names of the levels; empty where there is no menu. */
  get menu() {
    return this.levels.map(({ name }) => name).filter((name) => name !== null);
  }

  /**
   * One report of one answer; null where the answer is missing and the study says that this is
   * public. Drawn anew at every call: keep the report, and send the same one again.
   *
   * @param answer a value or number; of options an array; of records an object by attribute, or an
   *   array
   * @param {{level?: string, rate?: number, allocation?: Array<number|null>}} choice
   */
  randomise(answer, choice = {}) {
    return this.draw(answer, choice, new Source());
  }

  /** The same from a given source; tests enumerate with it. */
  draw(answer, { level, rate, allocation } = {}, source) {
    const [at, first] = this.#level(level);
    const k = chosenRate(at, rate);
    const report = {};
    if (this.columns.has("way")) report.way = first + k;
    if (this.columns.has("level")) report.level = first + k;
    const codes = this.#codes(answer);
    if (codes.every((code) => code === null)) return null;
    // Checked before the coin, so that a refusal does not depend on it.
    const steps =
      this.records && at.drawing.checkedSteps(allocation ?? at.drawing.equal(codes), codes);
    const speaks =
      at.coins[k] === null ? at.rates[k] === 1 : source.bernoulli(BigInt(`0x${at.coins[k]}`));
    if (!speaks) return { ...report, ...(this.records ? at.drawing.silence() : { silent: 1 }) };
    const drawn = this.records
      ? at.drawing.draw(codes, steps, source)
      : at.kind.draw(at.drawing, codes[0], source);
    for (const name of Object.keys(drawn)) {
      if (!this.columns.has(name)) throw new ContractError(`a report has no column ${name}`);
    }
    return { ...report, ...drawn };
  }

  #level(name) {
    if (name === undefined || name === null) {
      if (this.levels.length > 1) throw new AnswerError(`choose a level: ${this.menu.join(", ")}`);
      return [this.levels[0], 0];
    }
    let first = 0;
    for (const level of this.levels) {
      if (level.name === name) return [level, first];
      first += level.rates.length;
    }
    throw new AnswerError(`there is no level ${name}; there are ${this.menu.join(", ") || "none"}`);
  }

  #codes(answer) {
    if (!this.records) {
      const [domain] = this.domains;
      if (domain.several) return [domain.codes(answer)];
      return [domain.numeric ? domain.position(answer) : domain.code(answer)];
    }
    return this.domains.map((domain, a) =>
      domain.code(Array.isArray(answer) ? answer[a] : answer[domain.name]),
    );
  }

  /** The wire form of reports. */
  encode(reports) {
    return encode(this, reports);
  }

  /** Reports from their wire form. */
  decode(bytes) {
    return decode(this, bytes);
  }

  /** The level and rate of a report. */
  wayOf(report) {
    let left = report.way ?? report.level ?? 0;
    for (const level of this.levels) {
      if (left < level.rates.length) return { level, rate: level.rates[left] };
      left -= level.rates.length;
    }
    throw new ContractError(`a report names way ${left}; there are ${this.ways}`);
  }

  /** Whether a report says only that its sender stays silent. */
  isSilent(report) {
    return this.records ? report.reported.every((byte) => byte === 0) : Boolean(report.silent);
  }
}

function chosenRate({ rates }, rate) {
  if (rate === undefined || rate === null) {
    if (rates.length > 1) throw new AnswerError(`choose a rate: ${rates.join(", ")}`);
    return 0;
  }
  const k = rates.indexOf(rate);
  if (k < 0) throw new AnswerError(`there is no rate ${rate}; there are ${rates.join(", ")}`);
  return k;
}
