// @ts-check
// What a reader types into the stepper, read or refused with one line; the rules of viz/softmax_stepper/row.py.
import { fill } from "./dom.js";
import { counted } from "./numbers.js";
import { defaultValues } from "./softmax_run.js";

/**
 * @typedef {{ length: number, size: number, width: number }} Most
 * @typedef {{ x: number[], blocks: number[], v: number[][] }} Row
 */

/** A refusal: the name of the sentence and what stands in it. */
class Refused extends Error {
  /** @param {string} name @param {Record<string, string | number>} fields */
  constructor(name, fields) {
    super(name);
    this.fields = fields;
  }
}

/** @param {string} text */
function splitUp(text) {
  const inner = text.trim().replace(/^[[(（【\]]+|[\])）】]+$/g, "").replaceAll("−", "-");
  return inner.split(/[\s,，、;；]+/).filter(Boolean);
}

const shortened = (/** @type {string} */ piece) => (piece.length > 24 ? `${piece.slice(0, 23)}…` : piece);

/** @param {string} piece @param {Most} most */
function numberOf(piece, most) {
  const value = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(piece) ? Number(piece) : NaN;
  if (/^[-+]?(inf(inity)?|nan)$/i.test(piece)) throw new Refused("bad_size", { piece });
  if (Number.isNaN(value)) throw new Refused("bad_number", { piece: shortened(piece) });
  if (!Number.isFinite(value) || Math.abs(value) > most.size) throw new Refused("bad_size", { piece: shortened(piece) });
  return value;
}

/** @param {string} piece @param {number} n */
function blockOf(piece, n) {
  const size = /^[-+]?\d+$/.test(piece) ? Number(piece) : NaN;
  if (!(size >= 1 && size <= n)) throw new Refused("bad_block", { piece: shortened(piece), n });
  return size;
}

/** @param {string} text @param {number} n */
function blocksOf(text, n) {
  const pieces = splitUp(text);
  if (!pieces.length) throw new Refused("bad_empty", {});
  if (pieces.length === 1) {
    const count = blockOf(pieces[0], n);
    return Array.from({ length: count }, (_, i) => Math.floor(n / count) + (i < n % count ? 1 : 0));
  }
  const sizes = pieces.map((piece) => blockOf(piece, n));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (total !== n) throw new Refused("bad_sum", { sum: sizes.slice(0, 8).join(" + ") + (sizes.length > 8 ? " + …" : ""), total: counted(total), n });
  return sizes;
}

/** @param {string} text @param {number} n @param {Most} most */
function valuesOf(text, n, most) {
  if (!text.trim()) return defaultValues(n);
  let lines = text.split(/[;；]/).map(splitUp).filter((line) => line.length);
  if (lines.length === 1 && n > 1) lines = lines[0].map((piece) => [piece]);
  if (lines.length !== n) throw new Refused("bad_rows", { got: counted(lines.length), n });
  const width = lines[0].length;
  if (lines.some((line) => line.length !== width) || width > most.width) throw new Refused("bad_width", { most: most.width });
  return lines.map((line) => line.map((piece) => numberOf(piece, most)));
}

/**
 * What was typed, or the sentence that refuses it.
 * @param {{ x: string, blocks: string, v: string }} typed
 * @param {Most} most
 * @param {Record<string, string>} words
 * @returns {Row | string}
 */
export function readTyped(typed, most, words) {
  try {
    const pieces = splitUp(typed.x);
    if (pieces.length < 1 || pieces.length > most.length) throw new Refused("bad_length", { n: counted(pieces.length), most: most.length });
    const x = pieces.map((piece) => numberOf(piece, most));
    return { x, blocks: blocksOf(typed.blocks, x.length), v: valuesOf(typed.v, x.length, most) };
  } catch (refused) {
    if (!(refused instanceof Refused)) throw refused;
    return fill(words[refused.message], refused.fields);
  }
}

/**
 * V as a reader writes it.
 * @param {number[][]} v
 */
export const written = (v) => v.map((row) => row.join(", ")).join("; ");
