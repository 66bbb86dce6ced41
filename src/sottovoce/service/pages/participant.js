// The participant's page: ask, randomise here, show what will be sent, send it, keep the receipt.
//
// The report is drawn once and kept on this device, bound to the study's digest, before anything is
// shown or sent: reloading, going back or sending twice sends the same bytes. Answers are never kept.

import { MissingAnswer, questionFields } from "./participant-form.js";
import { menuFields } from "./participant-menu.js";
import { element } from "./participant-picture.js";
import {
  AnswerError,
  SottovoceError,
  Study,
  fetchStudy,
  fromHex,
  send,
  sha256,
  toHex,
  wordsOf,
} from "./sottovoce.js";

const $ = (id) => document.getElementById(id);
const WAIT = 15;
const collector = new URL(".", location.href);
const embedded = $("study"); // in a copy of this page that works without a connection
let study;
let kept = null; // {body, wanted, code, receipt}; body in hex
let timer = 0;
let sending = false;

const storageKey = () => `sottovoce report ${study.digest}`;

function load() {
  try {
    return JSON.parse(localStorage.getItem(storageKey()) ?? "null");
  } catch {
    return null;
  }
}

/** Whether it could be kept. */
function store() {
  try {
    localStorage.setItem(storageKey(), JSON.stringify(kept));
    return true;
  } catch {
    return false;
  }
}

function fail(title, error) {
  $("loading").hidden = true;
  $("problem-title").textContent = title;
  $("problem-text").textContent = error.message;
  $("problem").hidden = false;
}

function introduce() {
  const { study: about = {}, bundle = "" } = study.about;
  document.title = study.title;
  $("title").textContent = study.title;
  $("by").textContent = `Asked by ${about.owner}`;
  $("by").hidden = !about.owner;
  $("why").textContent = about.description ?? "";
  $("why").hidden = !about.description;
  $("checked").textContent =
    "This page has checked with exact arithmetic that the probabilities it draws with keep the promised " +
    "epsilon, for every level; had they not, it would have refused to go on.";
  const texts = study.collections.flatMap((collection) =>
    collection.levels.map((level) => {
      const title = level.name === null ? collection.name : `${collection.name}, ${level.name}`;
      return [element("h3", {}, title), element("pre", { tabindex: "0" }, level.guarantee)];
    }),
  );
  $("guarantee").replaceChildren(...texts.flat());
  $("digest").textContent = study.digest;
  $("bundle").textContent = bundle || "not stated";
  $("offline").hidden = Boolean(embedded);
  $("visible").hidden = study.collections.every(({ levels }) => levels.length < 2);
  $("promise").hidden = false;
}

function ask() {
  const questions = questionFields(study);
  const menus = menuFields(study, (words) => say(words, "total"));
  $("questions").replaceChildren(...questions.boxes);
  $("menus").replaceChildren(...menus.boxes);
  $("form").hidden = false;
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    $("form-error").textContent = "";
    try {
      kept = load() ?? draw(questions.read(), menus.read());
    } catch (error) {
      if (!(error instanceof SottovoceError || error instanceof MissingAnswer)) throw error;
      complain(error);
      return;
    }
    const safe = store();
    $("form").reset();
    review(
      safe
        ? ""
        : "This browser does not let the page keep your report. Do not reload before you have sent it.",
    );
    $("review-title").focus();
  });
}

/** Says what is missing beside the question, where the page scrolls to. */
function complain({ input = $("draw"), message }) {
  const words = $("form-error");
  const legend = input.closest("fieldset")?.querySelector("legend");
  if (legend) legend.after(words);
  else $("draw").parentElement.before(words);
  words.textContent = message;
  input.focus({ preventScroll: true });
  words.scrollIntoView({ block: "center" });
}

function draw(answers, choices) {
  const reports = {};
  for (const collection of study.collections) {
    const answer = answers[collection.name];
    const choice = choices[collection.name];
    const leftOut = ({ missing }, a) => missing === "public" && answer[a] === null;
    if (collection.records && collection.domains.some(leftOut)) {
      if (choice.divided) {
        choice.divideEqually();
        throw new AnswerError(
          `You left out an answer of “${collection.name}”, so your division no longer adds up. ` +
            "Epsilon is now divided equally, as the sliders show: randomise again if you agree, " +
            "or answer everything and divide it anew.",
        );
      }
      delete choice.allocation; // what is left out has no part
    }
    reports[collection.name] = collection.randomise(answer, choice);
  }
  return { body: toHex(study.submission(reports)), wanted: false, code: "", receipt: null };
}

function review(note = "") {
  const body = fromHex(kept.body);
  const lines = Object.entries(study.reports(body)).flatMap(([name, [report]]) =>
    wordsOf(study.collection(name), report),
  );
  const entry = ({ name, text }) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, text));
  step(1);
  $("form").hidden = true;
  $("words").replaceChildren(...lines.map(entry));
  $("kept").textContent =
    note || "Drawn once and kept on this device. Reloading or going back shows the same report.";
  $("bytes").textContent = kept.body.match(/.{1,2}/g).join(" ");
  $("bytes-note").textContent =
    `${body.length} bytes: 16 random ones that name this submission, so that it is counted once, then the report.`;
  $("elsewhere").hidden = true;
  $("send").hidden = Boolean(embedded);
  $("keep").hidden = !embedded;
  $("code-field").hidden = Boolean(embedded) || !study.about.invitation;
  $("code").value = kept.code || new URLSearchParams(location.hash.slice(1)).get("code") || "";
  $("review").hidden = false;
  if (kept.receipt) done();
}

/** Which of the three steps we are at. */
function step(now) {
  [...$("steps").children].forEach((item, k) => {
    if (k === now) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  });
}

function say(text, where = "status") {
  $(where).textContent = text;
}

async function deliver(where = "status") {
  if (sending) return;
  clearTimeout(timer);
  sending = true;
  $("send").disabled = true;
  say("Sending …", where);
  const code = kept.code || $("code").value.trim();
  try {
    const answer = await send(collector, fromHex(kept.body), { code });
    if (answer.refused?.length) {
      kept.wanted = false;
      say(
        `The collector refused the report: ${answer.refused.map(({ reason }) => reason).join("; ")}`,
        where,
      );
    } else {
      kept = { ...kept, wanted: false, code: "", receipt: answer.receipt ?? "accepted" };
      say(where === "status" ? "" : "The same bytes were sent again and are counted once.", where);
      done();
    }
  } catch (error) {
    if (!(error instanceof SottovoceError)) throw error;
    kept = { ...kept, wanted: error.retry, code: error.retry ? code : "" };
    const later =
      "Your report is kept on this device and sent again by itself as soon as that is possible.";
    const offline = navigator.onLine
      ? "The collector cannot take it right now."
      : "There is no connection.";
    say(error.retry ? `${offline} ${later}` : error.message, where);
    if (error.retry) timer = setTimeout(deliver, 1000 * Math.max(error.after, WAIT));
  } finally {
    sending = false;
    $("send").disabled = false;
    store();
  }
}

function done() {
  const first = $("done").hidden;
  $("review-title").textContent = "This is what was sent";
  $("sending").hidden = true;
  $("code-field").hidden = true;
  step(2);
  $("receipt").textContent = kept.receipt;
  $("done").hidden = false;
  if (first) $("done-title").focus();
}

function save(name, content, type) {
  const file = new Blob([content], { type });
  const link = element("a", { href: URL.createObjectURL(file), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function saveReceipt() {
  const body = fromHex(kept.body);
  const receipt = {
    study: study.title,
    digest: study.digest,
    submission: kept.body.slice(0, 32),
    sha256: toHex(sha256(body)),
    receipt: kept.receipt,
  };
  save("receipt.json", JSON.stringify(receipt, null, 1), "application/json");
}

function saveReport() {
  save("my-report.bin", fromHex(kept.body), "application/octet-stream");
  say("Saved. Open the collector's page and choose this file there; it contains no answer.");
}

/** A report that was made elsewhere: a submission, or a file of one question's reports. */
async function takeFile() {
  const [file] = $("file").files;
  if (!file) return;
  $("file-error").textContent = "";
  const bytes = new Uint8Array(await file.arrayBuffer());
  $("file").value = ""; // so that the same file, corrected, can be chosen again
  try {
    const body = study.adopt(bytes);
    kept = load() ?? { body: toHex(body), wanted: false, code: "", receipt: null };
    store();
    review("Made elsewhere and kept on this device.");
    $("review-title").focus();
  } catch (error) {
    if (!(error instanceof SottovoceError)) throw error;
    $("file-error").textContent = error.message;
  }
}

$("send").addEventListener("click", () => deliver());
$("again").addEventListener("click", () => deliver("again-status"));
$("save").addEventListener("click", saveReceipt);
$("keep").addEventListener("click", saveReport);
$("file").addEventListener("change", takeFile);
addEventListener("online", () => kept?.wanted && deliver());
addEventListener("storage", () => {
  // Another tab has drawn or sent the report of this study.
  const other = study && load();
  if (other && (!kept || other.body === kept.body)) {
    kept = other;
    review();
  }
});

function readEmbedded() {
  const about = JSON.parse(embedded.textContent);
  const made = new Study(about.client);
  made.about = about;
  return made;
}

async function begin() {
  $("loading").hidden = false;
  try {
    study = embedded ? readEmbedded() : await fetchStudy(collector);
  } catch (error) {
    const contract = error.name === "ContractError";
    const title = contract ? "This study does not keep its promise" : "The study cannot be read";
    const text = contract
      ? error.message
      : `${error.message}. Check the connection and reload the page.`;
    return fail(title, { message: text });
  }
  $("loading").hidden = true;
  introduce();
  kept = load();
  if (kept) {
    try {
      review();
    } catch (error) {
      return fail("The report on this device cannot be read", error);
    }
    return kept.wanted && deliver();
  }
  if (study.about.closed)
    return fail("This study is closed", { message: "It takes no more reports. Thank you." });
  $("elsewhere").hidden = Boolean(embedded);
  return ask();
}

begin();
