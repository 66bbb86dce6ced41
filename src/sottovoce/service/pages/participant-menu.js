// The levels and rates of a study as sliders, and the division of epsilon over a record.

import {
  element,
  epsilonWords,
  mostSure,
  percent,
  pictures,
  sentence,
} from "./participant-picture.js";
import { slide } from "./sottovoce.js";

const MOST = 20; // the largest epsilon of one answer

/** Questions with the same menu share one slider. */
function groups(study) {
  const found = new Map();
  for (const collection of study.collections) {
    const about = collection.levels.map((level) => [
      level.name,
      level.epsilon,
      level.mechanism,
      level.rates,
      collection.domains[0].most,
    ]);
    const key = JSON.stringify(collection.records ? collection.name : about);
    found.set(key, [...(found.get(key) ?? []), collection]);
  }
  return [...found.values()];
}

/** The sliders; `read()` gives level, rate and allocation by question. `say` shows their total. */
export function menuFields(study, say) {
  let parts = [];
  const changed = () => {
    if (study.collections.length < 2 || parts.length === 0) return;
    const epsilon = parts.reduce((sum, part) => sum + part.epsilon(), 0);
    say(
      `All your answers together: ${epsilonWords(epsilon)}, at most ${mostSure(epsilon)}% sure of one of two ways to answer everything.`,
    );
  };
  parts = groups(study).map((some, number, all) => menu(some, number, all.length > 1, changed));
  changed();
  const read = () => Object.assign({}, ...parts.map((part) => part.read()));
  return { boxes: parts.map((part) => part.box), read };
}

function menu(collections, number, several, changed) {
  const [first] = collections;
  const box = element("div", { class: "menu" });
  const names = collections.map(({ name }) => `“${name}”`).join(", ");
  if (several) box.append(element("h3", {}, `For ${names}`));
  const levels = [...first.levels].sort((a, b) => a.epsilon - b.epsilon);
  const division = first.records ? divider(first, levels[0], number) : null;
  const shown = element("div", { class: "meaning", "aria-live": "polite" });
  const slider = element("input", {
    type: "range",
    id: `level${number}`,
    min: 0,
    max: levels.length - 1,
    step: 1,
    value: 0,
  });
  const rate = element("select", { id: `rate${number}` });
  const at = () => levels[Number(slider.value)];
  const update = () => {
    const level = at();
    if (rate.dataset.level !== String(slider.value)) {
      rate.dataset.level = slider.value;
      rate.replaceChildren(
        ...level.rates.map((r, k) => element("option", { value: k }, percent(r))),
      );
      rate.parentElement.hidden = level.rates.length < 2;
    }
    const chosen = level.rates[Number(rate.value)];
    const title = level.name === null ? "The same for everyone" : level.name;
    const words = sentence(collections, level, chosen);
    slider.setAttribute("aria-valuetext", `${title}: ${words}`);
    const text = element(
      "div",
      {},
      element("p", { class: "level" }, title),
      element("p", {}, words),
    );
    shown.replaceChildren(text, pictures(level.fit(), first, chosen));
    division?.show(level);
    changed();
  };
  if (levels.length > 1) {
    box.append(
      element("label", { for: slider.id, class: "field" }, "How much privacy do you want?"),
      slider,
      element(
        "div",
        { class: "ends", "aria-hidden": "true" },
        element("span", {}, "More privacy"),
        element("span", {}, "More precise result"),
      ),
    );
  }
  const often = element(
    "p",
    {},
    element("label", { for: rate.id, class: "field" }, "How often should people like you report?"),
    rate,
  );
  if (levels.some(({ rates }) => rates.length > 1)) box.append(often);
  box.append(shown, ...(division ? [division.box] : []));
  slider.addEventListener("input", update);
  rate.addEventListener("input", update);
  update();
  const read = () => {
    const choice = { level: at().name, rate: at().rates[Number(rate.value)] };
    if (division) Object.assign(choice, division.read());
    return Object.fromEntries(collections.map(({ name }) => [name, choice]));
  };
  return { box, epsilon: () => at().epsilon * collections.length, read };
}

/** Of records: the total of a level may be divided over the attributes by sliders. */
function divider(collection, level, number) {
  const { domains } = collection;
  const { floor } = level.drawing;
  let { average } = level.drawing;
  let allocation = domains.map(() => average);
  const rows = domains.map((domain, a) => {
    const input = element("input", {
      type: "range",
      id: `part${number}-${a}`,
      min: floor,
      step: 0.05,
    });
    const output = element("output", { for: input.id });
    input.addEventListener("input", () => {
      allocation = slide(allocation, a, Number(input.value), floor);
      draw();
    });
    const label = element("label", { for: input.id }, domain.name);
    return { input, output, row: element("div", { class: "part" }, label, output, input) };
  });
  const draw = () =>
    rows.forEach(({ input, output }, a) => {
      const words = `${epsilonWords(allocation[a])}, at most ${mostSure(allocation[a])}% sure`;
      input.value = String(allocation[a]);
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
    });
  const box = element(
    "details",
    {},
    element("summary", {}, "Divide it yourself"),
    element(
      "p",
      { class: "quiet" },
      "Protect some answers more and others less; the total stays the same. Decide before you look at your answers.",
    ),
    ...rows.map(({ row }) => row),
  );
  /** At another level the parts keep their proportions, or are equal where that is not allowed. */
  const show = ({ drawing }) => {
    const factor = (drawing.average - floor) / (average - floor);
    const parts = allocation.map((part) => floor + (part - floor) * factor);
    const allowed = parts.every((part) => part >= floor && part <= MOST);
    allocation = allowed ? parts : domains.map(() => drawing.average);
    average = drawing.average;
    const room = domains.length * (average - floor);
    for (const { input } of rows) input.max = String(Math.min(MOST, floor + room));
    box.hidden = domains.length < 2 || room === 0;
    draw();
  };
  const divideEqually = () => {
    allocation = domains.map(() => average);
    draw();
  };
  const divided = () => allocation.some((part) => Math.abs(part - average) > 1e-9);
  return { box, show, read: () => ({ allocation, divided: divided(), divideEqually }) };
}
