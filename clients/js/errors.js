/** What can go wrong; every message says what was given, what is allowed and what to do. */

export class SottovoceError extends Error {
  constructor(message) {
    super(message);
    this.name = this.constructor.name;
  }
}

/** The contract does not keep its promise, or is not what its digest says. */
export class ContractError extends SottovoceError {}

/** An answer, level, rate or allocation that the study does not have. */
export class AnswerError extends SottovoceError {}

/** Bytes that are not reports of this study. */
export class WireError extends SottovoceError {}

/** The collector refused a submission, or could not be reached. */
export class SendError extends SottovoceError {
  /** `retry`: the same bytes may be sent again, `after` so many seconds. */
  constructor(message, { retry = false, after = 0, status = 0 } = {}) {
    super(message);
    this.retry = retry;
    this.after = after;
    this.status = status;
  }
}
