/** Answers a batch of requests: JSON lines on standard input, one JSON array on standard output. */

import { readFileSync } from "node:fs";

import {
  Collection,
  SottovoceError,
  Study,
  slide,
  toHex,
  wordsOf,
} from "../../clients/js/sottovoce.js";
import { Source, WHOLE } from "../../clients/js/randomness.js";
import { Rational, atMostExp } from "../../clients/js/rationals.js";

// Nothing may be drawn with it.
Math.random = () => {
  throw new Error("Math.random is not a source of randomness");
};

/** Walks through every outcome of a drawing, with its exact probability. */
class Walk {
  #path = [];
  #depth = 0;

  begin() {
    this.#depth = 0;
    this.probability = new Rational(1n);
  }

  #branch(probabilities) {
    if (this.#depth === this.#path.length) this.#path.push({ at: 0, of: probabilities.length });
    const { at } = this.#path[this.#depth++];
    this.probability = this.probability.times(probabilities[at]);
    return at;
  }

  /** Whether there is another outcome. */
  next() {
    while (this.#path.length && ++this.#path.at(-1).at === this.#path.at(-1).of) this.#path.pop();
    return this.#path.length > 0;
  }

  bernoulli(threshold) {
    return (
      this.#branch([new Rational(threshold, WHOLE), new Rational(WHOLE - threshold, WHOLE)]) === 0
    );
  }

  below(bound) {
    return this.#branch(Array(bound).fill(new Rational(1n, BigInt(bound))));
  }

  pick(ends) {
    return this.#branch(ends.map((end, k) => new Rational(end - (k ? ends[k - 1] : 0n), WHOLE)));
  }
}

/** A source of real draws whose bytes are enumerated instead. */
class Bytes extends Source {
  constructor(walk) {
    super();
    this.walk = walk;
  }

  byte() {
    return this.walk.below(256);
  }
}

function laws(draw, name) {
  const walk = new Walk();
  const law = new Map();
  do {
    walk.begin();
    const key = name(draw(walk));
    law.set(key, (law.get(key) ?? new Rational(0n)).plus(walk.probability));
  } while (walk.next());
  return Object.fromEntries([...law].map(([key, p]) => [key, `${p.num}/${p.den}`]));
}

const made = ({ about, canonical }) => new Collection(about, canonical);

const COMMANDS = {
  law(request) {
    const one = made(request);
    return request.answers.map((answer) =>
      laws(
        (walk) => one.draw(answer, request.choice, walk),
        (report) => toHex(one.encode([report])),
      ),
    );
  },
  sample(request) {
    const one = made(request);
    return request.answers.map((answer) => {
      const reports = Array.from({ length: request.n }, () =>
        one.randomise(answer, request.choice),
      );
      return Buffer.from(one.encode(reports)).toString("base64");
    });
  },
  recode: (request) => {
    const one = made(request);
    return toHex(one.encode(one.decode(Buffer.from(request.bytes, "hex"))));
  },
  words: (request) => {
    const one = made(request);
    return one.decode(Buffer.from(request.bytes, "hex")).map((report) => wordsOf(one, report));
  },
  ratio(request) {
    const [level] = made(request).levels;
    const { num, den } = level.kind.ratio(level.drawing);
    return `${num}/${den}`;
  },
  study(request) {
    const study = new Study(request.contract, { digest: request.digest });
    if (!request.answers) return study.digest;
    const reports = {};
    for (const [name, [answer, choice]] of Object.entries(request.answers)) {
      reports[name] = study.collection(name).randomise(answer, choice);
    }
    const body = study.submission(reports);
    study.reports(body);
    return toHex(body);
  },
  below: ({ epsilon, ratio }) => atMostExp(Rational.of(ratio), Rational.of(epsilon)),
  coin: ({ threshold }) =>
    laws((walk) => new Bytes(walk).bernoulli(BigInt(`0x${threshold}`)), String),
  uniform({ bound }) {
    // One round: bytes that are rejected are a law of their own.
    class Once extends Bytes {
      #left = Math.ceil(Math.log2(bound) / 8);
      byte() {
        if (this.#left-- === 0) throw new RangeError("again");
        return super.byte();
      }
    }
    const once = (walk) => {
      try {
        return new Once(walk).below(bound);
      } catch (error) {
        if (error instanceof RangeError) return "again";
        throw error;
      }
    };
    return laws(once, String);
  },
  slide: ({ allocation, which, value, floor }) => slide(allocation, which, value, floor),
  codes: ({ about, canonical, answers }) => {
    const one = made({ about, canonical });
    const [domain] = one.domains;
    return answers.map((answer) => (domain.several ? domain.codes(answer) : domain.code(answer)));
  },
};

const requests = readFileSync(0, "utf8")
  .split("\n")
  .filter(Boolean)
  .map((line) => JSON.parse(line));
const answers = requests.map((request) => {
  try {
    return { ok: COMMANDS[request.command](request) };
  } catch (error) {
    if (error instanceof SottovoceError) return { error: error.name, message: error.message };
    throw error;
  }
});
process.stdout.write(JSON.stringify(answers));
