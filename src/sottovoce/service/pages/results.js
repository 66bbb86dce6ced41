// Keeps the page live: fetches it again every few seconds and puts the new content in place.
const SECONDS = 5;
const pause = document.getElementById("pause");
const text = document.getElementById("live-text");
let paused = false;

function show(words) {
  text.textContent = words;
  pause.textContent = paused ? "Continue" : "Pause";
}

// What a reader has opened stays open.
function openDetails(root) {
  return [...root.querySelectorAll("details")].map((element) => element.open);
}

async function refresh() {
  if (paused || document.hidden) return;
  const main = document.getElementById("results");
  // Somebody who chooses from a list or reads a table by keyboard is not interrupted.
  if (main.contains(document.activeElement)) return;
  // Nor does anybody lose what they have typed and not sent yet.
  const typed = ({ value, defaultValue }) => value !== defaultValue;
  if ([...main.querySelectorAll("textarea")].some(typed)) return;
  try {
    const answer = await fetch(location.pathname + location.search, { redirect: "error" });
    if (!answer.ok) throw new Error(String(answer.status));
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.getElementById("results");
    const open = openDetails(main);
    if (open.length === fresh.querySelectorAll("details").length) {
      fresh.querySelectorAll("details").forEach((element, k) => { element.open = open[k]; });
    }
    main.replaceChildren(...fresh.childNodes);
    show(`Live: the estimate is fetched every ${SECONDS} seconds.`);
  } catch {
    show("The server does not answer; trying again.");
  }
}

if (document.getElementById("results")) {
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    show(paused ? "Paused." : "Live again.");
    refresh();
  });
  show(`Live: the estimate is fetched every ${SECONDS} seconds.`);
  setInterval(refresh, SECONDS * 1000);
}
