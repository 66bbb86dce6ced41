/**
 * The binary form of reports, version 1: the same bytes as `sottovoce.contract.codec`.
 *
 * Strict: anything that no participant can have sent is refused.
 */

import { fromHex, toHex } from "./digests.js";
import { WireError } from "./errors.js";

const MAGIC = "SVRP";
const HEAD = 48;
const BYTES = { u1: 1, u2: 2, u4: 4 };

/** Bytes that one report takes in a column [name, dtype, width]. */
const size = ([, dtype, width]) => BYTES[dtype] * Math.max(width, 1);

function headLength(id) {
  return Math.ceil((HEAD + id.length) / 16) * 16;
}

/**
 * One envelope.
 *
 * @param {{id: string, digest: string, layout: Array}} collection
 * @param {Array<Object>} reports columns of each: a number, or an array of them; absent ones are 0
 */
export function encode({ id, digest, layout }, reports, { more = false } = {}) {
  const head = headLength(id);
  const each = layout.reduce((sum, column) => sum + size(column), 0);
  const bytes = new Uint8Array(head + each * reports.length);
  const view = new DataView(bytes.buffer);
  for (let k = 0; k < 4; k++) bytes[k] = MAGIC.charCodeAt(k);
  bytes[4] = 1;
  bytes[5] = more ? 2 : 0;
  bytes[6] = id.length;
  view.setBigUint64(8, BigInt(reports.length), true);
  bytes.set(fromHex(digest), 16);
  for (let k = 0; k < id.length; k++) bytes[HEAD + k] = id.charCodeAt(k);
  let at = head;
  for (const [name, dtype, width] of layout) {
    for (const report of reports) {
      const cells = width ? (report[name] ?? []) : [report[name] ?? 0];
      for (let k = 0; k < Math.max(width, 1); k++, at += BYTES[dtype]) {
        put(view, at, dtype, cells[k] ?? 0);
      }
    }
  }
  return bytes;
}

function put(view, at, dtype, value) {
  if (dtype === "u1") view.setUint8(at, value);
  else if (dtype === "u2") view.setUint16(at, value, true);
  else view.setUint32(at, value, true);
}

function get(view, at, dtype) {
  if (dtype === "u1") return view.getUint8(at);
  return dtype === "u2" ? view.getUint16(at, true) : view.getUint32(at, true);
}

/** The reports of one envelope that fills the bytes exactly; the columns of each. */
export function decode({ id, digest, layout }, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = headLength(id);
  if (bytes.length < head) throw new WireError("the reports end before their head does");
  const magic = String.fromCharCode(...bytes.subarray(0, 4));
  if (magic !== MAGIC || bytes[4] !== 1 || bytes[5] !== 0 || bytes[7] !== 0) {
    throw new WireError(
      "these are not reports of version 1, in one envelope, drawn without a seed",
    );
  }
  const named = String.fromCharCode(...bytes.subarray(HEAD, HEAD + bytes[6]));
  const padding = bytes.subarray(HEAD + id.length, head);
  if (named !== id || toHex(bytes.subarray(16, HEAD)) !== digest || padding.some((byte) => byte)) {
    throw new WireError("these reports belong to another study or question");
  }
  const many = Number(view.getBigUint64(8, true));
  const each = layout.reduce((sum, column) => sum + size(column), 0);
  if (bytes.length !== head + each * many) {
    throw new WireError(
      `${many} reports take ${each * many} bytes; there are ${bytes.length - head}`,
    );
  }
  const reports = Array.from({ length: many }, () => ({}));
  let at = head;
  for (const [name, dtype, width] of layout) {
    for (const report of reports) {
      const cells = [];
      for (let k = 0; k < Math.max(width, 1); k++, at += BYTES[dtype])
        cells.push(get(view, at, dtype));
      report[name] = width ? cells : cells[0];
    }
  }
  return reports;
}

/**
 * What is posted: 16 bytes of submission id, then the envelope; in a study with several questions
 * each envelope after its length in 4 bytes, most significant first.
 */
export function frame(id, envelopes, { several }) {
  const parts = [id];
  for (const envelope of envelopes) {
    if (several) {
      const length = new Uint8Array(4);
      new DataView(length.buffer).setUint32(0, envelope.length);
      parts.push(length);
    }
    parts.push(envelope);
  }
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The inverse of `frame`: the id and the envelopes. */
export function unframe(bytes, { several }) {
  if (bytes.length < 16) throw new WireError("a submission begins with 16 bytes of its id");
  const id = bytes.subarray(0, 16);
  if (!several) return { id, envelopes: [bytes.subarray(16)] };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const envelopes = [];
  for (let at = 16; at < bytes.length;) {
    if (at + 4 > bytes.length || at + 4 + view.getUint32(at) > bytes.length) {
      throw new WireError("the submission ends inside an envelope");
    }
    const length = view.getUint32(at);
    envelopes.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return { id, envelopes };
}
