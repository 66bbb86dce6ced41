/** What a report says, in words: read from the bytes that are sent, not from the answer. */

const NAMED = 24;
const LOOKED_AT = 1 << 16;

/**
 * One line for each attribute of a report.
 *
 * @returns {Array<{name: string, text: string}>}
 */
export function wordsOf(collection, report) {
  const { level } = collection.wayOf(report);
  if (collection.isSilent(report)) {
    const text = "nothing: chance decided that you stay silent, and only that is reported";
    return [{ name: collection.name, text }];
  }
  if (!collection.records) {
    const [domain] = collection.domains;
    return [{ name: collection.name, text: answerWords(domain, level, report) }];
  }
  let start = 0;
  return collection.domains.map((domain, a) => {
    const first = start;
    start += domain.size;
    const sent = (report.reported[a >> 3] >> (a & 7)) & 1;
    const bit = (code) => ((report.bits[(first + code) >> 3] >> ((first + code) & 7)) & 1) === 1;
    return { name: domain.name, text: sent ? valueWords(domain, bit) : "not reported" };
  });
}

function answerWords(domain, { kind, drawing }, report) {
  if (domain.text) return textWords(domain, kind.fit(drawing)[1].toNumber(), report);
  if (domain.numeric) return numberWords(domain, drawing, report);
  if (domain.size <= LOOKED_AT) {
    const words = valueWords(domain, (code) => kind.fits(drawing, report, code));
    return domain.most > 1 ? `one option, picked at random: ${words}` : words;
  }
  if ("value" in report) return `fits “${domain.words(report.value)}”, and no other answer`;
  return `fits some of ${domain.size.toLocaleString("en")} answers, too many to list`;
}

function valueWords(domain, fits) {
  const named = [];
  let others = 0;
  for (let code = 0; code < domain.reported; code++) {
    if (!fits(code)) others++;
    else if (named.length < NAMED) named.push(`“${domain.words(code)}”`);
  }
  const all = domain.reported - others;
  if (all === 0) return `fits none of the ${domain.reported} answers`;
  const more = all > named.length ? ` and ${all - named.length} more` : "";
  const rest = others === 1 ? ", and not the other one" : `, and none of the other ${others}`;
  return `fits ${list(named)}${more}${others === 0 ? "" : rest}`;
}

function textWords({ lengths }, other, { depth }) {
  const beginning = lengths[depth] === 1 ? "first character" : `first ${lengths[depth]} characters`;
  return (
    `about the ${beginning} of your text, a number picked at random: fits about one in ` +
    `${Math.round(1 / other)} of all possible beginnings, too many to list`
  );
}

function list(items) {
  if (items.length < 2) return items.join("");
  return `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`;
}

function numberWords(domain, { grids }, { grid = 0, cell }) {
  const { steps, window } = grids[grid];
  const [low, high] = domain.range;
  if (steps === 1)
    return cell ? `points to the upper end, ${high}` : `points to the lower end, ${low}`;
  const near = low + ((high - low) * (cell - (window - 1) / 2)) / steps;
  return `about ${Number(near.toPrecision(3))} (it may lie outside ${low} to ${high})`;
}
