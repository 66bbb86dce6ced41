/**
 * Sottovoce for participants: randomise answers on your own device, and send only that.
 *
 *     import { Study, fetchStudy } from "./sottovoce.js";
 *     const study = await fetchStudy("https://collector.example");
 *     const report = study.collection("commute").randomise("bike", { level: "strong" });
 *     const body = study.submission({ commute: report });      // keep these bytes
 *     const receipt = await send("https://collector.example", body);
 *
 * No dependencies and no build step; browsers and Node 20 or later. A `Study` refuses a contract
 * whose digest does not match, or whose probabilities reveal more than it promises.
 */

import { Collection } from "./collection.js";
import { canonicalDigest, toHex } from "./digests.js";
import { ContractError, SendError, WireError } from "./errors.js";
import { frame, unframe } from "./wire.js";

export { Collection } from "./collection.js";
export { fromHex, sha256, toHex } from "./digests.js";
export { AnswerError, ContractError, SendError, SottovoceError, WireError } from "./errors.js";
export { slide } from "./records.js";
export { wordsOf } from "./words.js";

const FORMAT = 1;

export class Study {
  /**
   * @param contract the member "client" of GET /api/v1/study
   * @param {{digest?: string}} options the digest from the invitation, if you have it
   */
  constructor(contract, { digest } = {}) {
    if (contract?.format !== FORMAT) {
      throw new ContractError(
        `the contract has format ${contract?.format}; this client reads ${FORMAT}`,
      );
    }
    this.digest = canonicalDigest("study", contract.canonical);
    if (contract.digest !== this.digest || (digest !== undefined && digest !== this.digest)) {
      throw new ContractError(
        `the contract has the digest ${this.digest.slice(0, 12)}…, not ` +
          `${(digest ?? contract.digest).slice(0, 12)}…: this is another study than you were invited to`,
      );
    }
    const canonical = JSON.parse(contract.canonical);
    this.title = canonical.title;
    const entries = [...canonical.question, ...canonical.records];
    if (entries.length !== contract.collections.length) {
      throw new ContractError("the contract has not as many questions as its digest covers");
    }
    this.collections = contract.collections.map((about, k) => {
      const binding = JSON.stringify({ question: entries[k].name, study: this.digest });
      if (about.name !== entries[k].name || about.digest !== canonicalDigest("question", binding)) {
        throw new ContractError(`the question ${about.name} does not belong to this study`);
      }
      return new Collection(about, entries[k]);
    });
  }

  /** A question or records by name; without a name, the only one. */
  collection(name) {
    const some =
      name === undefined ? this.collections : this.collections.filter((one) => one.name === name);
    if (some.length !== 1) {
      const names = this.collections.map((one) => one.name).join(", ");
      throw new ContractError(
        `there is no question ${name ?? "without a name"}; there are ${names}`,
      );
    }
    return some[0];
  }

  /**
   * What is posted: a fresh random id and the reports. Keep these bytes: whoever sends them again
   * sends the same id, and is counted once.
   *
   * @param {Object<string, Object>} reports by question; null where nothing is reported
   */
  submission(reports) {
    const id = globalThis.crypto.getRandomValues(new Uint8Array(16));
    const present = this.collections.filter(({ name }) => reports[name]);
    if (present.length === 0) throw new ContractError("there is nothing to send");
    const envelopes = present.map((one) => one.encode([].concat(reports[one.name])));
    return frame(id, envelopes, { several: this.collections.length > 1 });
  }

  /**
   * A submission from bytes that were made elsewhere: such bytes themselves, or one question's file
   * of reports (`.svr`), which gets a fresh id.
   */
  adopt(bytes) {
    const file = String.fromCharCode(...bytes.subarray(0, 4)) === "SVRP";
    const id = globalThis.crypto.getRandomValues(new Uint8Array(16));
    const body = file ? frame(id, [bytes], { several: this.collections.length > 1 }) : bytes;
    const reports = Object.values(this.reports(body));
    if (reports.length === 0 || reports.some((some) => some.length !== 1)) {
      throw new WireError("the file must have one report of each question that it answers");
    }
    return body;
  }

  /** The reports in such bytes, by question; refuses what is not of this study. */
  reports(body) {
    const { envelopes } = unframe(body, { several: this.collections.length > 1 });
    const byName = {};
    for (const envelope of envelopes) {
      const digest = toHex(envelope.subarray(16, 48));
      const one = this.collections.find((each) => each.digest === digest);
      if (!one) throw new WireError("this is not a report of this study");
      byName[one.name] = one.decode(envelope);
    }
    return byName;
  }
}

/** Fetch and check a study from a collector's address. */
export async function fetchStudy(url, { digest, fetch = globalThis.fetch } = {}) {
  const answer = await fetch(place(url, "api/v1/study"), {
    credentials: "omit",
    cache: "no-store",
  });
  if (!answer.ok)
    throw new SendError(`the collector answered ${answer.status}`, { status: answer.status });
  const body = await answer.json();
  const study = new Study(body.client, { digest });
  study.about = body;
  return study;
}

/** A path of the collector, whether its address ends with a slash or not. */
function place(url, path) {
  const base = new URL(url);
  if (!base.pathname.endsWith("/")) base.pathname += "/";
  return new URL(path, base);
}

/**
 * Post a submission.
 *
 * @returns {Promise<{accepted: number, refused: Array, receipt: string}>}
 * @throws {SendError} with `retry` true where the same bytes may be sent again later
 */
export async function send(url, body, { code, fetch = globalThis.fetch } = {}) {
  const headers = { "Content-Type": "application/octet-stream" };
  if (code && !/^[\x21-\x7e]+$/.test(code)) {
    throw new SendError("the invitation code has characters that no code has; type it again");
  }
  if (code) headers["Sottovoce-Code"] = code;
  const request = { method: "POST", body, headers, credentials: "omit", cache: "no-store" };
  let answer;
  try {
    answer = await fetch(place(url, "api/v1/reports"), request);
  } catch {
    throw new SendError("the collector cannot be reached; send the same report again later", {
      retry: true,
    });
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.ok) return said;
  const retry = answer.status === 408 || answer.status === 429 || answer.status >= 500;
  const why = said.detail ?? said.title ?? `the collector answered ${answer.status}`;
  const after = Number(answer.headers.get("Retry-After")) || 0;
  throw new SendError(why, { retry, after, status: answer.status });
}
