// The questions of a study as form fields.

import { element } from "./participant-picture.js";

const FEW = 12;
const LISTED = 1000;
const SKIP = "skip";
const SKIPPED = "I leave this out (others can see that)";
const NONE = "None of these";

/** A field for one attribute; `read()` gives the answer, null where it is left out. */
function field(domain, name, title) {
  if (domain.text) return textField(domain, name, title);
  if (domain.several) return optionsField(domain, name, title);
  if (domain.numeric) return numberField(domain, name, title, ...domain.range, false);
  if (typeof domain.values === "number" && domain.size > LISTED) {
    return numberField(domain, name, title, 0, domain.values - 1, true);
  }
  if (domain.size > LISTED) return labelField(domain, name, title);
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
      (most > 1 ? " Your device picks one of your choices at random and reports only that one." : ""),
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

/** What an empty field means, where it is allowed. */
const EMPTY = {
  public: " Leave the field empty to leave this out (others can see that).",
  value: " An empty field means “no answer”, and is randomised like any other.",
};

/** A field to type into, with a hint below it. */
function typedField(name, title, attributes, words) {
  const hint = element("p", { class: "quiet", id: `${name}-hint` }, words);
  const input = element("input", { id: name, "aria-describedby": hint.id, ...attributes });
  const label = element("legend", {}, element("label", { for: name }, title));
  return { input, hint, box: element("fieldset", {}, label, input, hint) };
}

// What is typed goes to no spelling service and into no list of earlier entries.
const AS_TYPED = {
  type: "text",
  autocomplete: "off",
  autocapitalize: "none",
  autocorrect: "off",
  spellcheck: "false",
};

/** A text over the alphabet of the question; says at once what is not allowed. */
function textField(domain, name, title) {
  const { length, cuts, other } = domain;
  const rule = cuts ? `Only the first ${length} characters count.` : `At most ${length} characters.`;
  const allowed = other === null ? `Allowed: ${alphabetWords(domain.alphabet)}.` : "";
  const rest = other === null ? "" : `“${other}” stands for all but ${alphabetWords(domain.alphabet)}.`;
  const words = [rule, allowed, rest, "An empty field is an answer, too."].filter(Boolean).join(" ");
  const { input, hint, box } = typedField(name, title, AS_TYPED, words);
  const error = element("p", { class: "error", role: "status" });
  box.append(error);
  const fault = () => {
    const words = domain.fault(input.value);
    return words && `${words[0].toUpperCase()}${words.slice(1)}.`;
  };
  input.addEventListener("input", () => (error.textContent = fault()));
  const read = () => {
    const why = fault();
    error.textContent = "";
    if (why) throw new MissingAnswer(title, input, why);
    return input.value;
  };
  return { box, read };
}

/** The characters of an alphabet, runs of them in short: a to z, 0 to 9 and -. */
function alphabetWords(alphabet) {
  const runs = [];
  for (const symbol of alphabet) {
    const last = runs.at(-1);
    if (last && symbol.codePointAt(0) === last.at(-1).codePointAt(0) + 1) last.push(symbol);
    else runs.push([symbol]);
  }
  const shown = (symbol) => (symbol === " " ? "space" : symbol);
  const words = runs.flatMap((run) =>
    run.length > 3 ? [`${shown(run[0])} to ${shown(run.at(-1))}`] : run.map(shown),
  );
  if (words.length > 40) return `${alphabet.length} characters, such as ${words.slice(0, 20).join(" ")}`;
  return words.length > 1 ? `${words.slice(0, -1).join(", ")} and ${words.at(-1)}` : words[0];
}

/** One of more labels than a list could show. */
function labelField(domain, name, title) {
  const words = `One of ${domain.size} answers; type it as it is written in the study.`;
  const empty = EMPTY[domain.missing] ?? "";
  const { input, box } = typedField(name, title, AS_TYPED, words + empty);
  const codes = new Map(
    Array.from({ length: domain.size }, (_, code) => [domain.words(code), code]),
  );
  const read = () => {
    const answer = input.value.trim();
    if (answer === "" && domain.missing !== "refuse") return null;
    if (!codes.has(answer)) throw new MissingAnswer(title, input, words);
    return domain.label(codes.get(answer));
  };
  return { box, read };
}

// Not a field of type "number": of "12,5" browsers in English keep 125.
const WHOLE = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(\d+[.,]?\d*|[.,]\d+)$/;
const THOUSANDS = /^[+-]?[1-9]\d{0,2},\d{3}$/; // or three decimals

function numberField(domain, name, title, low, high, whole) {
  // Keyboards of digits have no minus sign.
  const inputmode = low < 0 ? "text" : whole ? "numeric" : "decimal";
  const range = `A ${whole ? "whole " : ""}number from ${low} to ${high}.`;
  const beyond = domain.clip ? " One outside counts as the nearest of the two." : "";
  const words = range + beyond + (EMPTY[domain.missing] ?? "");
  const { input, hint, box } = typedField(name, title, { ...AS_TYPED, inputmode }, words);
  const read = () => {
    const typed = input.value.trim().replace("\u2212", "-");
    if (typed === "" && domain.missing !== "refuse") return null;
    if (typed !== "" && (!(whole ? WHOLE : DECIMAL).test(typed) || THOUSANDS.test(typed))) {
      const unclear = `“${typed}” is not clear: write digits, without a thousands separator. `;
      throw new MissingAnswer(title, input, unclear + hint.textContent);
    }
    const answer = typed === "" ? NaN : Number(typed.replace(",", "."));
    const inside = answer >= low && answer <= high;
    if (!inside && !(domain.clip && Number.isFinite(answer)))
      throw new MissingAnswer(title, input, hint.textContent);
    return answer;
  };
  return { box, read };
}

export class MissingAnswer extends Error {
  constructor(title, input, hint = "") {
    const typed = input.type === "text" && input.value.trim() !== "";
    super(`Please ${typed ? "correct" : "answer"} “${title}”. ${hint}`);
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
