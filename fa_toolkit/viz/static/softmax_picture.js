// @ts-check
// The picture of one softmax step: the row's bars above, the terms gathered in l below.
import { set, svg } from "./dom.js";

/**
 * @typedef {{
 *   kind: string, block: number, start: number, stop: number, m: number | null, m_old: number | null,
 *   terms: (number | null)[], term_labels: string[], m_label: string,
 * }} Frame
 * @typedef {{ x: number[], labels: string[], stops: number[], whole: number[], frames: Frame[] }} Run
 */

const TOP = { from: 44, to: 140 };
const LOW = { from: 208, to: 292 };
export const HEIGHT = 304;
const RIGHT = 74;

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
  const y = (/** @type {number} */ value) =>
    TOP.from + ((high - value) / span) * (TOP.to - TOP.from);
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

/** @param {number} step @param {Frame} frame @param {number} column */
export function barState(step, frame, column) {
  if (frame.kind === "start" || frame.kind === "done") return "resting";
  return column >= frame.start && column < frame.stop ? "on-chip" : "resting";
}

/**
 * @param {SVGElement} box
 * @param {Run} run
 * @param {Record<string, string>} words
 * @param {number} width
 */
export function softmaxPicture(box, run, words, width) {
  const at = layout(run.x, width);
  set(box, { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}` });
  box.replaceChildren();
  const add = (/** @type {SVGElement} */ element) => (box.append(element), element);
  const label = (/** @type {Record<string, string | number>} */ where, /** @type {string} */ text) =>
    add(svg("text", where, text));

  label({ x: 0, y: 12, class: "fa-name-s" }, words.scores);
  const lowTitle = label({ x: 0, y: 186, class: "fa-name-s" }, words.terms);
  add(svg("line", { x1: 0, x2: at.end, y1: at.zero, y2: at.zero, class: "fa-axis" }));
  add(svg("line", { x1: 0, x2: at.end, y1: LOW.to, y2: LOW.to, class: "fa-axis" }));
  for (const stop of run.stops.slice(0, -1)) {
    const x = stop * at.slot;
    for (const [y1, y2] of [[24, TOP.to], [LOW.from - 12, LOW.to]]) {
      add(svg("line", { x1: x, x2: x, y1, y2, class: "fa-boundary" }));
    }
  }
  const names = run.stops.map((stop, block) => {
    const start = block ? run.stops[block - 1] : 0;
    return label({ x: ((start + stop) / 2) * at.slot, y: 32, class: "fa-block" }, "");
  });
  const staggered = run.labels.some((text) => text.length * 7 + 4 > at.slot);
  const bars = run.x.map((value, i) => {
    const y = Math.min(at.y(value), at.zero);
    const height = Math.max(1.5, Math.abs(at.y(value) - at.zero));
    const low = staggered && i % 2 === 1 ? 13 : 0; // two rows of labels where one is too dense
    label({ x: at.middle(i), y: TOP.to + 16 + low, class: "fa-value" }, run.labels[i]);
    return add(svg("rect", { x: at.left(i), y, width: at.bar, height, rx: 2, class: "fa-bar" }));
  });
  const was = run.x.map((_, i) =>
    add(svg("line", { x1: at.left(i), x2: at.left(i) + at.bar, class: "fa-was" })),
  );
  const terms = run.x.map((_, i) =>
    add(svg("rect", { x: at.left(i), y: LOW.to, width: at.bar, height: 0, rx: 2, class: "fa-term" })),
  );
  const termLabels = run.x.map((_, i) => label({ x: at.middle(i), y: LOW.to, class: "fa-value" }, ""));
  const whole = run.x.map((_, i) =>
    add(svg("line", { x1: at.left(i) - 4, x2: at.left(i) + at.bar + 4, class: "fa-whole" })),
  );
  const reach = add(svg("line", { x1: 0, class: "fa-reach" }));
  const line = add(svg("line", { x1: 0, class: "fa-max" }));
  const mText = label({ x: at.end + 8, class: "fa-m" }, "");

  /**
   * @param {number} step
   * @param {boolean} asked  show the old terms: the factor has not been applied yet
   * @param {string} caption
   */
  return function draw(step, asked, caption) {
    const frame = run.frames[step];
    const before = run.frames[Math.max(0, step - 1)];
    const drawn = asked ? before : frame;
    const done = frame.kind === "done";
    box.setAttribute("aria-label", caption.replaceAll("*", ""));
    lowTitle.textContent = done ? words.probabilities : words.terms;
    if (done) lowTitle.append(svg("tspan", { class: "fa-legend", dx: 14 }, words.whole));
    names.forEach((name, block) => {
      const passed = done || block < frame.block || (block === frame.block && frame.kind === "add");
      const text = at.slot * (run.stops[block] - (block ? run.stops[block - 1] : 0)) < 58
        ? String(block + 1) : words.block.replace("{n}", String(block + 1));
      name.textContent = passed ? `${text} ✓` : text;
      name.classList.toggle("fa-now", block === frame.block && !done);
    });
    bars.forEach((bar, i) => bar.classList.toggle("fa-on", barState(step, frame, i) === "on-chip"));
    terms.forEach((term, i) => {
      const value = drawn.terms[i];
      const height = value === null ? 0 : value * (LOW.to - LOW.from);
      set(term, { y: LOW.to - height, height });
      term.classList.toggle("fa-on", done || (i >= frame.start && i < frame.stop));
      termLabels[i].textContent = value === null ? "" : drawn.term_labels[i];
      termLabels[i].setAttribute("y", String(LOW.to - height - 6));
      const tallest = value !== null && value === Math.max(...drawn.terms.map((t) => t ?? 0));
      termLabels[i].style.display = at.crowded && !tallest ? "none" : "";
      const old = frame.kind === "correct" && !asked ? before.terms[i] : null;
      was[i].style.display = old === null || old === value ? "none" : "";
      if (old !== null) set(was[i], { y1: at.term(old), y2: at.term(old) });
      whole[i].style.display = done ? "" : "none";
      set(whole[i], { y1: at.term(run.whole[i]), y2: at.term(run.whole[i]) });
    });
    const m = frame.m;
    for (const part of [line, reach, mText]) part.style.display = m === null ? "none" : "";
    if (m !== null) {
      const y = at.y(m);
      const seen = (frame.kind === "arrive" ? frame.start : frame.stop) * at.slot;
      set(line, { x2: seen, y1: y, y2: y });
      set(reach, { x1: seen, x2: at.end + 4, y1: y, y2: y });
      mText.setAttribute("y", String(y + 4));
      mText.textContent = `m = ${frame.m_label}`;
    }
  };
}
