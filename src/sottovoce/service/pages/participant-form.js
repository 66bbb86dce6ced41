// The questions of a study as form fields.

import { element } from "./participant-picture.js";

const FEW = 12;
const LISTED = 1000;
const SKIP = "skip";
const SKIPPED = "I leave this out (others can see that)";
const NONE = "None of these";

/** A field for one attribute; `read()` gives the answer, null where it is left out. */
function field(domain, name, title) {
  if (domain.several) return optionsField(domain, name, title);
  if (domain.numeric) return numberField(domain, name, title, ...domain.range, "any");
  if (typeof domain.values === "number" && domain.size > LISTED) {
    return numberField(domain, name, title, 0, domain.values - 1, 1);
  }
  const options = Array.from({ length: domain.size }, (_, code) => [
    String(code),
    domain.words(code),
  ]);
  if (domain.missing === "public") options.push([SKIP, SKIPPED]);
  const value = (code) => (code === SKIP ? null : domain.label(Number(code)));
  if (domain.size > FEW) return listField(options, name, title, value);
  const choices = options.map(([code, words]) =>
    choice({ type: "radio", name, value: code }, words),
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

function choice(attributes, words) {
  const input = element("input", attributes);
  return element("label", { class: "choice" }, input, element("span", {}, words));
}

/** Choose all that apply: boxes to tick, never more than the question allows. */
function optionsField(domain, name, title) {
  const { size, most } = domain;
  const type = most === 1 ? "radio" : "checkbox";
  const all = Array.from({ length: size }, (_, code) => domain.words(code));
  const none = all.some((words) => words.toLowerCase() === NONE.toLowerCase())
    ? "I choose none of them"
    : NONE;
  const options = all.map((words, code) => choice({ type, name, value: code }, words));
  const alone = [choice({ type, name, value: "" }, none)];
  if (domain.missing === "public") alone.push(choice({ type, name, value: SKIP }, SKIPPED));
  const bound =
    most === 1 ? "Choose one" : most === size ? "Choose all that apply" : `Choose up to ${most}`;
  const allowed = `${bound}, or “${none}”.`;
  const hint = element(
    "p",
    { class: "quiet hint", id: `${name}-hint` },
    allowed +
      (most > 1 ? " Your device draws one of your choices by lot and reports only that one." : ""),
  );
  const count = element("p", { class: "count quiet", role: "status", hidden: most === 1 });
  const box = element(
    "fieldset",
    { "aria-describedby": hint.id },
    element("legend", {}, title),
    hint,
    element("div", { class: "choices" }, ...options, ...alone),
    count,
  );
  const inputs = (labels) => labels.map((label) => label.querySelector("input"));
  const chosen = () => inputs(options).filter((input) => input.checked);
  const show = () => {
    const many = chosen().length;
    const full = most > 1 && many === most;
    for (const input of inputs(options)) {
      if (full && !input.checked) input.setAttribute("aria-disabled", "true");
      else input.removeAttribute("aria-disabled");
    }
    const more = full && most < size ? " Untick one to choose another." : "";
    count.textContent = `${many} of at most ${most} chosen.${more}`;
    count.className = "count quiet";
  };
  box.addEventListener("click", (event) => {
    // A box that is unavailable stays focusable, so that a screen reader can say why.
    if (event.target.getAttribute("aria-disabled") !== "true") return;
    event.preventDefault();
    count.textContent = `No more than ${most} may be chosen: untick one to choose another.`;
    count.className = "count error";
  });
  box.addEventListener("change", ({ target }) => {
    const single = inputs(alone).includes(target);
    if (target.checked)
      for (const input of inputs(single ? [...options, ...alone] : alone))
        if (input !== target) input.checked = false;
    show();
  });
  show();
  const read = () => {
    const [nothing, skip] = inputs(alone);
    if (skip?.checked) return null;
    if (nothing.checked) return [];
    if (chosen().length === 0) throw new MissingAnswer(title, inputs(options)[0], allowed);
    return chosen().map((input) => domain.label(Number(input.value)));
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
