/**
 * The client's own check of what it is promised.
 *
 * The contract states an epsilon; the thresholds decide the true one. Both are exact, so the client
 * computes the largest likelihood ratio itself and refuses when it exceeds e^epsilon.
 */

import { ContractError } from "./errors.js";
import { WHOLE } from "./randomness.js";
import { ONE, Rational, atMostExp } from "./rationals.js";

/** Refuse promises that the ratio breaks, or that differ from the study's own epsilon. */
export function checkPromises(where, promises, ratio, level) {
  const free = promises.filter(({ notion }) => notion === "ldp");
  if (free.length === 0) {
    throw new ContractError(
      `${where} promises nothing that holds whatever others believe beforehand`,
    );
  }
  for (const promise of promises) {
    const epsilon = Rational.of(promise.epsilon);
    if (promise.notion === "ldp") refuse(where, ratio, epsilon, "");
    else if (promise.notion === "lip") refuse(where, level(), epsilon, " under the stated prior");
    else
      throw new ContractError(
        `${where} promises ${promise.notion}, which this client cannot check`,
      );
  }
}

function refuse(where, ratio, epsilon, under) {
  if (atMostExp(ratio, epsilon)) return;
  throw new ContractError(
    `${where} promises epsilon = ${show(epsilon.toNumber())}${under}, but its probabilities differ ` +
      `by a factor of ${show(ratio.toNumber())}, which is epsilon = ${show(Math.log(ratio.toNumber()))}. ` +
      "The collector's contract is wrong or was altered: nothing was drawn, and nothing should be sent.",
  );
}

const show = (x) => Number(x.toPrecision(8)).toString();

/**
 * The largest ratio of beliefs after and before a report: max of Q(y|x) / λ_y and λ_y / Q(y|x),
 * λ_y = Σ_x P_x Q(y|x), over every prior that the study allows. As `prior_channels.exact_lip`.
 */
export function beliefRatio(mechanism, parameters) {
  const [low, high] = priorBounds(parameters, mechanism.size);
  if (mechanism.rows) return tableRatio(mechanism.rows, low);
  const keep = new Rational(mechanism.keep, WHOLE);
  let worst = ONE;
  mechanism.rest.forEach((cell, y) => {
    const rest = new Rational(cell, WHOLE);
    const least = rest.plus(keep.times(low[y]));
    const most = rest.plus(keep.times(high[y]));
    worst = worst.max(rest.plus(keep).over(least)).max(most.over(rest));
  });
  return worst;
}

/**
 * How much less likely an answer can become, max of λ_y / Q(y|x): the half of that ratio which the
 * published optimum ("jiang-theorem2") keeps at the study's epsilon, though not the other half.
 */
export function beliefFall(mechanism, parameters) {
  const [low, high] = priorBounds(parameters, mechanism.size);
  const columns = mechanism.rows
    ? mechanism.rows[0].map((_, y) => mechanism.rows.map((row) => row[y]))
    : mechanism.rest.map((cell, y) => low.map((_, x) => cell + (x === y ? mechanism.keep : 0n)));
  return columns
    .map((column) => {
      const cells = column.map((cell) => new Rational(cell, WHOLE));
      return sum(cells.map((cell, x) => cell.times(high[x]))).over(cells.reduce(least));
    })
    .reduce((a, b) => a.max(b));
}

const least = (a, b) => a.min(b);

function tableRatio(rows, prior) {
  let worst = ONE;
  rows[0].forEach((_, y) => {
    const column = rows.map((row) => new Rational(row[y], WHOLE));
    const seen = sum(column.map((cell, x) => cell.times(prior[x])));
    for (const cell of column) worst = worst.max(cell.over(seen)).max(seen.over(cell));
  });
  return worst;
}

const sum = (terms) => terms.reduce((a, b) => a.plus(b), new Rational(0n));

/** Bounds of the prior in fractions, without corners that no distribution reaches. */
function priorBounds({ prior, prior_low: lows, prior_high: highs }, size) {
  if (prior) {
    const exact = prior.map(Rational.of);
    const total = sum(exact);
    const point = exact.map((p) => p.over(total));
    return [point, point];
  }
  if (!lows) return [Array(size).fill(new Rational(0n)), Array(size).fill(ONE)];
  const below = sum(lows.map(Rational.of)).max(ONE);
  const above = sum(highs.map(Rational.of)).min(ONE);
  const low = lows.map((p) => Rational.of(p).over(below));
  const high = highs.map((p) => Rational.of(p).over(above));
  const [allLow, allHigh] = [sum(low), sum(high)];
  return [
    low.map((p, k) => p.max(ONE.minus(allHigh.minus(high[k])))),
    high.map((p, k) => p.min(ONE.minus(allLow.minus(low[k])))),
  ];
}
