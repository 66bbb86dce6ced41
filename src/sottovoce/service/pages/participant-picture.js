// What a position of the privacy slider means: one sentence and one picture.

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 10;

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null) continue;
    made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** e^ε / (e^ε + 1) in per cent, rounded up: how sure somebody can become of one of two answers. */
export function mostSure(epsilon) {
  const gap = 100 / (1 + Math.exp(epsilon));
  const unit = gap < 1 ? 10 ** (Math.floor(Math.log10(gap)) - 1) : 1;
  return gap < 1e-6 ? 100 : Number((100 - Math.floor(gap / unit) * unit).toFixed(9));
}

/** Epsilon in three digits, rounded up but for the round-off of a sum. */
export function epsilonWords(epsilon) {
  const near = Number(epsilon.toPrecision(3));
  const unit = 10 ** (Math.floor(Math.log10(epsilon)) - 2);
  const shown = near * (1 + 1e-12) < epsilon ? Number((near + unit).toPrecision(3)) : near;
  return `ε\u00a0=\u00a0${shown}`;
}

export function percent(fraction) {
  return `${Math.round(1000 * fraction) / 10}%`;
}

/** 100 people as dots; as many of them filled as send a fitting report. */
function dots(many, words) {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 100 100");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", words);
  for (let k = 0; k < SIDE * SIDE; k++) {
    const dot = document.createElementNS(SVG, "circle");
    dot.setAttribute("cx", String((k % SIDE) * 10 + 5));
    dot.setAttribute("cy", String(Math.floor(k / SIDE) * 10 + 5));
    dot.setAttribute("r", k < many ? "4" : "2.5");
    dot.setAttribute("class", k < many ? "fits" : "other");
    picture.append(dot);
  }
  return picture;
}

/** Who is compared, and what their reports do: for a value, a number or an option. */
function captions({ domains: [domain] }) {
  if (domain.numeric)
    return ["with your number", "with a number far away", "is near your number"];
  if (domain.text)
    return ["with your text", "with a text that begins differently", "fits your text"];
  if (domain.several)
    return ["who choose an option", "who do not choose it", "fits this option"];
  return ["with your answer", "with another answer", "fits your answer"];
}

/** Two pictures side by side: people with your answer, people with another one, or far away. */
export function pictures([own, other], collection, rate) {
  const [mine, others, fits] = captions(collection);
  const figure = (fraction, who) => {
    const many = Math.round(100 * fraction);
    const people = rate < 1 ? "reporting people" : "people";
    const caption = `of 100 ${people} ${who} send a report that ${fits}`;
    return element(
      "figure",
      {},
      dots(many, `${many} ${caption}`),
      element("figcaption", {}, element("strong", {}, String(many)), caption),
    );
  };
  return element("div", { class: "pictures" }, figure(own, mine), figure(other, others));
}

/** One sentence about one level and rate of questions with the same menu, or of records. */
export function sentence(collections, level, rate) {
  const [first] = collections;
  const lot =
    rate < 1
      ? ` Your device also decides at random whether you report at all, with probability ${percent(rate)}.`
      : "";
  const answers = first.domains.length;
  if (first.records) {
    const { average } = level.drawing;
    const every = answers === 2 ? "Both answers" : `All ${answers} answers`;
    const each = answers > 1 ? "Divided equally, each answer has" : "Your answer has";
    return (
      `${each} ${epsilonWords(average)}: someone who considered two values equally likely ` +
      `beforehand and sees your report ends up at most ${mostSure(average)}% sure of either.` +
      (answers > 1 ? ` ${every} together have ${epsilonWords(level.epsilon)}.` : "") +
      lot
    );
  }
  const whole = first.domains[0].several ? "your whole choice" : "your answer";
  const each = collections.length > 1 ? "each of these answers" : whole;
  return (
    "Someone who considered two answers equally likely beforehand and sees your report ends up " +
    `at most ${mostSure(level.epsilon)}% sure of either (${epsilonWords(level.epsilon)} for ${each}).${lot}`
  );
}
