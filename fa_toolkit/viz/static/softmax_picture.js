// @ts-check
// The picture of one softmax step: the row's bars above, the terms gathered in l below, V and acc under them.
import { set, svg } from "./dom.js";
import { figure, small } from "./softmax_words.js";

/** @typedef {import("./softmax_run.js").Frame} Frame */
/** @typedef {import("./softmax_run.js").Run} Run */

const TOP = { from: 44, to: 130 };
const LOW = { from: 206, to: 284 };
const VALUES = { title: 322, from: 330, pitch: 22, height: 18 };
const RIGHT = 92;
const BETWEEN = ["start", "done", "meet", "weigh", "join"]; // no block of x is on chip
const STARTED = ["arrive", "max", "correct", "own_max"]; // the current block is not finished
const OVER = ["meet", "weigh", "join", "done"]; // all blocks are

/**
 * The height of the picture for V of so many columns.
 * @param {number} width
 */
export const pictureHeight = (width) => VALUES.from + width * VALUES.pitch + 2;

/**
 * Positions for `count` bars in `width` pixels, and the vertical scale of the row.
 * @param {number[]} x
 * @param {number} width
 */
export function layout(x, width) {
  const slot = Math.min(132, (width - RIGHT) / x.length);
  const bar = Math.max(4, Math.min(64, slot * 0.62));
  const high = Math.max(0, ...x);
  const low = Math.min(0, ...x);
  const span = high - low || 1;
  const y = (/** @type {number} */ value) => TOP.from + ((high - value) / span) * (TOP.to - TOP.from);
  return {
    bar,
    slot,
    end: slot * x.length,
    left: (/** @type {number} */ i) => i * slot + (slot - bar) / 2,
    middle: (/** @type {number} */ i) => (i + 0.5) * slot,
    y,
    zero: y(0),
    term: (/** @type {number} */ value) => LOW.to - value * (LOW.to - LOW.from),
    crowded: slot < 46,
  };
}

/**
 * Whether a column of x is on chip at a step.
 * @param {Frame} frame
 * @param {number} column
 */
export function barState(frame, column) {
  if (BETWEEN.includes(frame.kind)) return "resting";
  return column >= frame.start && column < frame.stop ? "on-chip" : "resting";
}

/**
 * Whether a block is finished in the pass on show.
 * @param {Frame} frame
 * @param {number} block
 */
export function passedBlock(frame, block) {
  if (OVER.includes(frame.kind)) return true;
  return STARTED.includes(frame.kind) || frame.kind === "start" ? block < frame.block : block <= frame.block;
}

/**
 * Smallest term to largest inside a block, measured on what is drawn; "" where there is none.
 * @param {(number | null)[]} terms
 * @param {number} start
 * @param {number} stop
 */
export function ratioInside(terms, start, stop) {
  const shown = terms.slice(start, stop);
  if (shown.length < 2 || shown.some((term) => term === null)) return "";
  const values = shown.map(Number);
  const high = Math.max(...values);
  return high > 0 ? `${small(Math.min(...values) / high)} : 1` : "";
}

/**
 * @param {SVGElement} box
 * @param {Run} run
 * @param {string} view
 * @param {Record<string, string>} words
 * @param {number} width
 */
export function softmaxPicture(box, run, view, words, width) {
  const at = layout(run.x, width);
  const height = pictureHeight(run.v[0].length);
  set(box, { width, height, viewBox: `0 0 ${width} ${height}` });
  box.replaceChildren();
  const add = (/** @type {SVGElement} */ element) => (box.append(element), element);
  const label = (/** @type {Record<string, string | number>} */ where, /** @type {string} */ text) => add(svg("text", where, text));
  const starts = run.stops.map((stop, i) => stop - run.blocks[i]);

  label({ x: 0, y: 12, class: "fa-name-s" }, words.scores);
  const lowTitle = label({ x: 0, y: 181, class: "fa-name-s" }, "");
  add(svg("line", { x1: 0, x2: at.end, y1: at.zero, y2: at.zero, class: "fa-axis" }));
  add(svg("line", { x1: 0, x2: at.end, y1: LOW.to, y2: LOW.to, class: "fa-axis" }));
  for (const stop of run.stops.slice(0, -1)) {
    const x = stop * at.slot;
    for (const [y1, y2] of [[24, TOP.to], [LOW.from - 12, LOW.to], [VALUES.from - 2, height - 2]]) {
      add(svg("line", { x1: x, x2: x, y1, y2, class: "fa-boundary" }));
    }
  }
  const centre = (/** @type {number} */ block) => ((starts[block] + run.stops[block]) / 2) * at.slot;
  const names = run.stops.map((_, block) => label({ x: centre(block), y: 32, class: "fa-block" }, ""));
  const ratios = run.stops.map((_, block) => label({ x: centre(block), y: LOW.to + 16, class: "fa-block" }, ""));
  const ratioName = label({ x: at.end + 8, y: LOW.to + 16 }, "");
  const staggered = run.x.some((value) => figure(value).length * 7 + 4 > at.slot);
  const bars = run.x.map((value, i) => {
    const y = Math.min(at.y(value), at.zero);
    const tall = Math.max(1.5, Math.abs(at.y(value) - at.zero));
    const low = staggered && i % 2 === 1 ? 13 : 0; // two rows of labels where one is too dense
    label({ x: at.middle(i), y: TOP.to + 16 + low, class: "fa-value" }, figure(value));
    return add(svg("rect", { x: at.left(i), y, width: at.bar, height: tall, rx: 2, class: "fa-bar" }));
  });
  const was = run.x.map((_, i) => add(svg("line", { x1: at.left(i), x2: at.left(i) + at.bar, class: "fa-was" })));
  const terms = run.x.map((_, i) => add(svg("rect", { x: at.left(i), y: LOW.to, width: at.bar, height: 0, rx: 2, class: "fa-term" })));
  const termLabels = run.x.map((_, i) => label({ x: at.middle(i), y: LOW.to, class: "fa-value" }, ""));
  const whole = run.x.map((_, i) => add(svg("line", { x1: at.left(i) - 4, x2: at.left(i) + at.bar + 4, class: "fa-whole" })));
  const reach = add(svg("line", { x1: 0, class: "fa-reach" }));
  const line = add(svg("line", { x1: 0, class: "fa-max" }));
  const mText = label({ x: at.end + 8, class: "fa-m" }, "");
  const values = valueRows(run, view, at, label, add);

  /**
   * @param {Frame} frame
   * @param {Frame} before
   * @param {boolean} asked  show the old terms: the factor has not been applied yet
   * @param {string} caption
   */
  return function draw(frame, before, asked, caption) {
    const drawn = asked ? before : frame;
    const done = frame.kind === "done";
    box.setAttribute("aria-label", caption.replaceAll("*", ""));
    const ends = done || frame.kind === "write";
    lowTitle.textContent = ends ? words.probabilities : view === "merged" && !["weigh", "join"].includes(drawn.kind) ? words.own_terms : words.terms;
    if (done) lowTitle.append(svg("tspan", { class: "fa-legend", dx: 14 }, words.whole));
    names.forEach((name, block) => {
      const text = at.slot * run.blocks[block] < 58 ? String(block + 1) : words.block.replace("{n}", String(block + 1));
      name.textContent = passedBlock(frame, block) ? `${text} ✓` : text;
      name.classList.toggle("fa-now", block === frame.block && !done);
      ratios[block].textContent = at.slot * run.blocks[block] < 66 ? "" : ratioInside(drawn.terms, starts[block], run.stops[block]);
    });
    ratioName.textContent = ratios.some((ratio) => ratio.textContent) ? words.ratio : "";
    bars.forEach((bar, i) => bar.classList.toggle("fa-on", barState(frame, i) === "on-chip"));
    const tallest = Math.max(...drawn.terms.map((term) => term ?? 0));
    terms.forEach((term, i) => {
      const value = drawn.terms[i];
      const tall = value === null ? 0 : value * (LOW.to - LOW.from);
      set(term, { y: LOW.to - tall, height: tall });
      term.classList.toggle("fa-on", done || (i >= frame.start && i < frame.stop));
      termLabels[i].textContent = small(value);
      termLabels[i].setAttribute("y", String(LOW.to - tall - 6));
      termLabels[i].style.display = at.crowded && value !== tallest ? "none" : "";
      const old = (frame.kind === "correct" || frame.kind === "weigh") && !asked ? before.terms[i] : null;
      was[i].style.display = old === null || old === value ? "none" : "";
      if (old !== null) set(was[i], { y1: at.term(old), y2: at.term(old) });
      whole[i].style.display = done ? "" : "none";
      set(whole[i], { y1: at.term(run.whole[i]), y2: at.term(run.whole[i]) });
    });
    values(frame, drawn);
    const m = frame.m;
    for (const part of [line, reach, mText]) part.style.display = m === null ? "none" : "";
    if (m === null) return;
    const y = at.y(m);
    const alone = frame.kind.startsWith("own_");
    const seen = (frame.kind === "arrive" ? frame.start : ["sum", "write", "done"].includes(frame.kind) ? run.x.length : frame.stop) * at.slot;
    set(line, { x1: alone ? frame.start * at.slot : 0, x2: seen, y1: y, y2: y });
    set(reach, { x1: seen, x2: at.end + 4, y1: y, y2: y });
    mText.setAttribute("y", String(y + 4));
    mText.textContent = `m = ${figure(m)}`;
  };
}

/**
 * The rows of V under their numbers, and acc beside them; three passes gather o itself.
 * @param {Run} run
 * @param {string} view
 * @param {ReturnType<typeof layout>} at
 * @param {(where: Record<string, string | number>, text: string) => SVGElement} label
 * @param {(element: SVGElement) => SVGElement} add
 * @returns {(frame: Frame, drawn: Frame) => void}
 */
function valueRows(run, view, at, label, add) {
  label({ x: 0, y: VALUES.title, class: "fa-name fa-ink-v" }, "V");
  const accName = label({ x: at.end + 8, y: VALUES.title, class: "fa-name fa-ink-o" }, "acc");
  const cells = run.v.map((row, i) => row.map((value, d) => {
    const y = VALUES.from + d * VALUES.pitch;
    const box = add(svg("rect", { x: at.left(i), y, width: at.bar, height: VALUES.height, rx: 2, class: "fa-v-cell" }));
    box.append(svg("title", {}, small(value)));
    const fits = small(value).length * 7 < at.bar + 8;
    return [box, label({ x: at.middle(i), y: y + 13, class: "fa-v-text" }, fits ? small(value) : "")];
  }));
  const sums = run.v[0].map((_, d) => {
    const y = VALUES.from + d * VALUES.pitch;
    add(svg("rect", { x: at.end + 8, y, width: RIGHT - 16, height: VALUES.height, rx: 2, class: "fa-acc-cell" }));
    return label({ x: at.end + RIGHT / 2, y: y + 13, class: "fa-value" }, "");
  });
  return (frame, drawn) => {
    const gathers = ["add", "write", "own_sum"].includes(frame.kind);
    cells.forEach((row, i) => row.flat().forEach((part) => part.classList.toggle("fa-on", gathers && i >= frame.start && i < frame.stop)));
    const shown = drawn.out ?? drawn.acc;
    accName.textContent = view === "three" || drawn.out || frame.kind === "write" ? "o" : "acc";
    sums.forEach((text, d) => (text.textContent = shown ? small(shown[d]) : ""));
  };
}
