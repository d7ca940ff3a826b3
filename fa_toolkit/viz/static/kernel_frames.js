// @ts-check
// Steps of a recorded kernel: which lines ran, which accesses they made, and the sentence of a step.
// The same as viz/kernel_lines/sentences.py; a test compares them.
import { fill } from "./dom.js";

/**
 * @typedef {{ name: string, rows: number, cols: number, stored: boolean, ink: string, axes: [number, number] }} PlateOf
 * @typedef {{ name: string, kernel: string, programs: number, labels: string[], read: number, written: number, plates: PlateOf[] }} ReelOf
 * @typedef {ReturnType<typeof kernelReel>} KernelReel
 */

const MOST_PLACES = 3;

/**
 * The first entry of a rising column that is not below `value`.
 * @param {ArrayLike<number>} column
 * @param {number} value
 */
function below(column, value) {
  let [low, high] = [0, column.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @param {PlateOf} plate
 * @param {ArrayLike<number>} box
 */
export function placeName(plate, box) {
  const [rows, cols] = [`${box[0]}:${box[1]}`, `${box[2]}:${box[3]}`];
  return `${plate.name}[${plate.axes[0] < 0 ? cols : plate.axes[1] < 0 ? rows : `${rows}, ${cols}`}]`;
}

/**
 * @param {ReelOf} table
 * @param {Record<string, any>} data  all columns
 * @param {string} side  "a" or "b"
 * @param {string} cut
 */
export function kernelReel(table, data, side, cut) {
  const c = (/** @type {string} */ name) => data[`${side}_${name}`];
  const [line, program, label, visit, kind, tensor, bytes, box, start, lanes, off, maskAt, mask] =
    ["line", "program", "label", "visit", "kind", "tensor", "bytes", "box", "start", "lanes", "off", "mask_at", "mask"].map(c);
  const stops = c(cut);
  const last = stops.length - 1;
  const sums = { read: [0], written: [0], off: [0], lanes: [0] };
  for (let i = 0; i < visit.length; i++) {
    sums.read.push(sums.read[i] + (kind[i] === 1 ? 0 : bytes[i]));
    sums.written.push(sums.written[i] + (kind[i] === 1 ? bytes[i] : 0));
    sums.off.push(sums.off[i] + off[i]);
    sums.lanes.push(sums.lanes[i] + lanes[2 * i] * lanes[2 * i + 1]);
  }
  const first = /** @type {ArrayLike<number>} */ (off).length ? Array.prototype.findIndex.call(off, (n) => n > 0) : -1;
  /** @param {number} step */
  const span = (step) => {
    const at = Math.min(step, last);
    const [from, to] = [at ? stops[at - 1] : 0, stops[at]];
    return { start: from, stop: to, first: below(visit, from), end: below(visit, to) };
  };
  const question = (/** @type {number} */ step) => {
    if (cut === "programs" || step < 1 || step > last || first < 0) return -1;
    const here = span(step);
    return here.first <= first && first < here.end ? first : -1;
  };
  return {
    table, last, span, question, sums, line, program, label, kind, tensor, off,
    visit: (/** @type {number} */ i) => visit[i],
    box: (/** @type {number} */ i) => box.subarray(4 * i, 4 * i + 4),
    block: (/** @type {number} */ i) => ({
      row: start[2 * i], col: start[2 * i + 1], rows: lanes[2 * i], cols: lanes[2 * i + 1], mask: mask.subarray(maskAt[i], maskAt[i + 1]),
    }),
    /**
     * @param {number} step
     * @param {Record<string, string>} words
     * @param {Map<number, string>} code
     * @param {boolean} open
     */
    sentence(step, words, code, open) {
      const here = span(step);
      if (step === 0 || here.start === here.stop) return fill(words.say_begin, { programs: table.programs });
      const number = program[here.start];
      const asked = open ? question(step) : -1;
      if (asked >= 0) {
        const plate = table.plates[tensor[asked]];
        return fill(words.say_ask, { program: number, tensor: plate.name, block: `${lanes[2 * asked]} × ${lanes[2 * asked + 1]}`, shape: `${plate.rows} × ${plate.cols}` });
      }
      const step_ = table.labels[label[here.stop - 1]];
      const kinds = new Set(kind.subarray(here.first, here.end));
      const name = cut === "programs" ? "both"
        : kinds.size ? (kinds.size === 1 && kinds.has(0) ? "loads" : kinds.size === 1 && kinds.has(1) ? "stores" : "both")
        : cut === "lines" ? "line" : ["scores", "mask", "update"].includes(step_) ? step_ : step_ ? "works" : "finds";
      const places = [...new Set(Array.from({ length: here.end - here.first }, (_, i) =>
        placeName(table.plates[tensor[here.first + i]], box.subarray(4 * (here.first + i), 4 * (here.first + i) + 4))))];
      const sum = (/** @type {number[]} */ column) => column[here.end] - column[here.first];
      return fill(words[`say_${name}`], {
        program: number, label: step_ || words.setup, places: (places.length <= MOST_PLACES ? places : [...places.slice(0, MOST_PLACES), "…"]).join(", "),
        bytes: sum(sums.read) + sum(sums.written), off: sum(sums.off), lanes: sum(sums.lanes), line: line[here.start],
        code: (code.get(line[here.start]) ?? "").trim().replaceAll("*", "·"),
      });
    },
  };
}
