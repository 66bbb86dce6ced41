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
  const percent = 100 / (1 + Math.exp(-epsilon));
  return percent > 99 ? Math.min(Math.ceil(percent * 100) / 100, 100) : Math.ceil(percent);
}

export function epsilonWords(epsilon) {
  return `ε\u00a0=\u00a0${Number(epsilon.toPrecision(3))}`;
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

/** Two pictures side by side: people with your answer, people with another one, or far away. */
export function pictures([own, other], numeric) {
  const figure = (fraction, who) => {
    const many = Math.round(100 * fraction);
    const fits = numeric ? "is near your number" : "fits your answer";
    const caption = `of 100 people ${who} send a report that ${fits}`;
    return element(
      "figure",
      {},
      dots(many, `${many} ${caption}`),
      element("figcaption", {}, element("strong", {}, String(many)), caption),
    );
  };
  return element(
    "div",
    { class: "pictures" },
    figure(own, numeric ? "with your number" : "with your answer"),
    figure(other, numeric ? "with a number far away" : "with another answer"),
  );
}

/** One sentence about one level and rate. */
export function sentence(level, rate, many) {
  const sure = mostSure(level.epsilon);
  const each = many > 1 ? "each of these answers" : "your answer";
  const lot =
    rate < 1
      ? ` Your device also draws by lot whether you report at all, with probability ${Math.round(1000 * rate) / 10}%.`
      : "";
  return (
    "Someone who considered two answers equally likely beforehand and sees your report ends up " +
    `at most ${sure}% sure of either (${epsilonWords(level.epsilon)} for ${each}).${lot}`
  );
}
