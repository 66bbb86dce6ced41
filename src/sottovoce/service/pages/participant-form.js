// The questions of a study as form fields, and its menus as sliders.

import { element, epsilonWords, mostSure, pictures, sentence } from "./participant-picture.js";
import { slide } from "./sottovoce.js";

const FEW = 12;
const LISTED = 1000;
const SKIP = "skip";

/** A field for one attribute; `read()` gives the answer, null where it is left out. */
function field(domain, name, title) {
  if (domain.numeric) return numberField(domain, name, title, ...domain.range, "any");
  if (typeof domain.values === "number" && domain.size > LISTED) {
    return numberField(domain, name, title, 0, domain.values - 1, 1);
  }
  const options = Array.from({ length: domain.size }, (_, code) => [
    String(code),
    domain.words(code),
  ]);
  if (domain.missing === "public") options.push([SKIP, "I leave this out (others can see that)"]);
  const value = (code) => (code === SKIP ? null : domain.label(Number(code)));
  if (domain.size > FEW) return listField(options, name, title, value);
  const choices = options.map(([code, words]) =>
    element(
      "label",
      { class: "choice" },
      element("input", { type: "radio", name, value: code }),
      words,
    ),
  );
  const box = element(
    "fieldset",
    {},
    element("legend", {}, title),
    element("div", { class: "choices" }, ...choices),
  );
  const read = () => {
    const chosen = box.querySelector(":checked");
    if (!chosen) throw new MissingAnswer(title, box.querySelector("input"));
    return value(chosen.value);
  };
  return { box, read };
}

function listField(options, name, title, value) {
  const list = element("select", { id: name }, element("option", { value: "" }, "Choose …"));
  list.append(...options.map(([code, words]) => element("option", { value: code }, words)));
  const box = element(
    "fieldset",
    {},
    element("legend", {}, element("label", { for: name }, title)),
    list,
  );
  const read = () => {
    if (list.value === "") throw new MissingAnswer(title, list);
    return value(list.value);
  };
  return { box, read };
}

function numberField(domain, name, title, low, high, step) {
  const input = element("input", {
    id: name,
    type: "number",
    min: low,
    max: high,
    step,
    inputmode: "decimal",
  });
  const hint = element(
    "p",
    { class: "quiet", id: `${name}-hint` },
    `A number from ${low} to ${high}.`,
  );
  input.setAttribute("aria-describedby", hint.id);
  const box = element(
    "fieldset",
    {},
    element("legend", {}, element("label", { for: name }, title)),
    input,
    hint,
  );
  const read = () => {
    const answer = input.value.trim() === "" ? NaN : Number(input.value);
    if (Number.isNaN(answer) && domain.missing !== "refuse") return null;
    const inside = answer >= low && answer <= high && (step === "any" || Number.isInteger(answer));
    if (!inside && !(domain.clip && Number.isFinite(answer)))
      throw new MissingAnswer(title, input, hint.textContent);
    return answer;
  };
  return { box, read };
}

export class MissingAnswer extends Error {
  constructor(title, input, hint = "") {
    super(`Please answer “${title}”. ${hint}`);
    this.input = input;
  }
}

/** All questions; `read()` gives the answers by question. */
export function questionFields(study) {
  const parts = study.collections.map((collection, q) => {
    const fields = collection.domains.map((domain, a) =>
      field(domain, `q${q}-${a}`, domain.name || collection.name),
    );
    const box = element("section", { class: "card" });
    if (collection.records) {
      box.classList.add("records");
      box.append(element("h2", {}, collection.name));
    }
    box.append(...fields.map((one) => one.box));
    const read = () => {
      const answers = fields.map((one) => one.read());
      return collection.records ? answers : answers[0];
    };
    return { collection, box, read };
  });
  const read = () => Object.fromEntries(parts.map((part) => [part.collection.name, part.read()]));
  return { boxes: parts.map((part) => part.box), read };
}

/** Questions with the same menu share one slider. */
function groups(study) {
  const found = new Map();
  for (const collection of study.collections) {
    const about = collection.levels.map((level) => [
      level.name,
      level.epsilon,
      level.mechanism,
      level.rates,
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
    if (study.collections.length < 2) return;
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
  if (first.records) return recordMenu(first, box, number);
  const levels = [...first.levels].sort((a, b) => a.epsilon - b.epsilon);
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
      const percent = (r) => `${Math.round(1000 * r) / 10}%`;
      rate.replaceChildren(
        ...level.rates.map((r, k) => element("option", { value: k }, percent(r))),
      );
      rate.parentElement.hidden = level.rates.length < 2;
    }
    const chosen = level.rates[Number(rate.value)];
    const title = level.name === null ? "The same for everyone" : level.name;
    slider.setAttribute(
      "aria-valuetext",
      `${title}: ${sentence(level, chosen, collections.length)}`,
    );
    const words = element("p", {}, sentence(level, chosen, collections.length));
    const text = element("div", {}, element("p", { class: "level" }, title), words);
    shown.replaceChildren(text, pictures(level.fit(), first.domains[0].numeric));
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
  box.append(shown);
  slider.addEventListener("input", update);
  rate.addEventListener("input", update);
  update();
  const read = () => {
    const choice = { level: at().name, rate: at().rates[Number(rate.value)] };
    return Object.fromEntries(collections.map(({ name }) => [name, choice]));
  };
  return { box, epsilon: () => at().epsilon * collections.length, read };
}

/** Of records: the total is fixed, and may be divided over the attributes by sliders. */
function recordMenu(collection, box, number) {
  const [level] = collection.levels;
  const { average, floor } = level.drawing;
  const many = collection.domains.length;
  const total = average * many;
  let allocation = collection.domains.map(() => average);
  const note = element("p", {});
  const shown = element("div", { class: "meaning" }, note, pictures(level.fit()));
  note.textContent =
    `Each answer has ${epsilonWords(average)}: someone who considered two values equally likely ` +
    `beforehand and sees your report ends up at most ${mostSure(average)}% sure of either. ` +
    `All ${many} answers together have ${epsilonWords(total)}.`;
  box.append(shown);
  const sliders = collection.domains.map((domain, a) => {
    const input = element("input", {
      type: "range",
      id: `part${number}-${a}`,
      min: floor,
      step: 0.05,
    });
    input.max = String(Math.min(20, total - floor * (many - 1)));
    const output = element("output", { for: input.id });
    input.addEventListener("input", () => {
      allocation = slide(allocation, a, Number(input.value), floor);
      show();
    });
    const row = element(
      "div",
      { class: "part" },
      element("label", { for: input.id }, domain.name),
      output,
      input,
    );
    return { input, output, row };
  });
  const show = () =>
    sliders.forEach(({ input, output }, a) => {
      const words = `${epsilonWords(allocation[a])}, at most ${mostSure(allocation[a])}% sure`;
      input.value = String(allocation[a]);
      output.textContent = words;
      input.setAttribute("aria-valuetext", words);
    });
  show();
  if (many > 1) {
    const hint =
      "Protect some answers more and others less; the total stays the same. Decide before you look at your answers.";
    box.append(
      element(
        "details",
        {},
        element("summary", {}, "Divide it yourself"),
        element("p", { class: "quiet" }, hint),
        ...sliders.map(({ row }) => row),
      ),
    );
  }
  return { box, epsilon: () => total, read: () => ({ [collection.name]: { allocation } }) };
}
