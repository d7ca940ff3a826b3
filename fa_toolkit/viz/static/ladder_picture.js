// @ts-check
// Five rows, four axes: size, bandwidth, latency, one pass. Dots on log scales, bars on linear ones.
import { fill, svg } from "./dom.js";
import { amount, duration, plain, rate } from "./numbers.js";
import { share } from "./ladder_sums.js";

export const ROW_HEIGHT = 50;
const TOP = 52;
const WIDE = 924;
const TICK = 146; // where it says whether the tensor fits

/** @type {{ name: string, left: number, wide: number, log: [number, number], ticks: [number, string][], label: (x: number) => string }[]} */
const AXES = [
  { name: "size", left: 168, wide: 284, log: [2 ** 13, 2 ** 38], ticks: [[2 ** 20, "1 MiB"], [2 ** 25, "32 MiB"], [2 ** 30, "1 GiB"]], label: amount },
  { name: "bandwidth", left: 476, wide: 146, log: [1e10, 1e14], ticks: [[1e11, "0.1"], [1e12, "1"], [1e13, "10 TB/s"]], label: rate },
  { name: "latency", left: 646, wide: 100, log: [10, 1000], ticks: [[10, "10"], [100, "100"], [1000, "1k"]], label: (x) => plain(x, 4) },
  { name: "pass", left: 770, wide: 146, log: [1e-10, 10], ticks: [[1e-9, "1 ns"], [1e-6, "1 µs"], [1e-3, "1 ms"], [1, "1 s"]], label: duration },
];

/**
 * @typedef {{ names: string[], notes: string[], values: number[][], measured: number[], missing: string[][],
 *   tensor: { ink: string, name: string, size: number, holds: boolean[], hidden: boolean },
 *   now: number, linear: boolean, claim: { low: number, high: number, from: number, to: number } | null }} Ladder
 * @param {string} label  for those who do not see it
 * @param {(level: number) => void} choose
 */
export function ladderPicture(label, choose) {
  const height = TOP + 5 * ROW_HEIGHT + 30;
  const root = svg("svg", { viewBox: `0 0 ${WIDE} ${height}`, class: "fa-rungs", role: "group", "aria-label": label });
  const back = svg("g");
  const front = svg("g");
  const buttons = Array.from({ length: 5 }, (_, i) => {
    const button = svg("rect", { x: 0, y: TOP + i * ROW_HEIGHT, width: WIDE, height: ROW_HEIGHT, class: "fa-rung-button", rx: 6 });
    button.addEventListener("click", () => choose(i));
    button.addEventListener("keydown", (event) => {
      if (!["Enter", " "].includes(/** @type {KeyboardEvent} */ (event).key)) return;
      event.preventDefault();
      event.stopPropagation();
      choose(i);
    });
    return button;
  });
  root.append(back, front, ...buttons);
  let drawn = ""; // what the axes show; a step only moves the row on show
  return {
    root,
    /**
     * Rows can be chosen only while a question is open.
     * @param {boolean} open
     * @param {string[]} names
     */
    ask(open, names) {
      root.classList.toggle("fa-rung-asking", open);
      buttons.forEach((button, i) => {
        for (const [name, value] of Object.entries({ tabindex: "0", role: "button", "aria-label": names[i] })) {
          if (open) button.setAttribute(name, value);
          else button.removeAttribute(name);
        }
      });
    },
    /**
     * @param {Ladder} ladder
     * @param {Record<string, string>} words
     */
    draw(ladder, words) {
      back.replaceChildren(...rows(ladder));
      const key = JSON.stringify({ ...ladder, now: 0 });
      if (key !== drawn) front.replaceChildren(...AXES.flatMap((axis, a) => column(axis, a, ladder, words)));
      drawn = key;
      for (const label of front.querySelectorAll(".fa-number")) label.classList.toggle("fa-now", label.getAttribute("data-rung") === String(ladder.now));
    },
  };
}

/**
 * Names, and the row on show.
 * @param {Ladder} ladder
 */
function rows(ladder) {
  return ladder.names.flatMap((name, i) => {
    const y = TOP + i * ROW_HEIGHT;
    const lit = i === ladder.now;
    const parts = [
      svg("text", { x: 10, y: y + (ladder.notes[i] ? 22 : 30), class: "fa-rung-name" }, name),
      svg("text", { x: 10, y: y + 39 }, ladder.notes[i]),
    ];
    const frame = svg("rect", { x: 1, y: y + 1, width: WIDE - 2, height: ROW_HEIGHT - 2, rx: 6, class: lit ? "fa-rung-now" : "fa-rung-row" });
    return [frame, ...parts];
  });
}

/**
 * One axis with its five values.
 * @param {typeof AXES[number]} axis
 * @param {number} at
 * @param {Ladder} ladder
 * @param {Record<string, string>} words
 */
function column(axis, at, ladder, words) {
  const { left, wide } = axis;
  const values = ladder.values[at];
  const known = values.filter((x) => Number.isFinite(x));
  const most = Math.max(...known, at === 0 ? ladder.tensor.size : 0);
  /** @type {[number, number]} */
  const range = ladder.linear ? [0, most || 1] : [Math.min(axis.log[0], ...known), Math.max(axis.log[1], most)];
  const x = (/** @type {number} */ value) => left + wide * share(value, range, ladder.linear);
  const bottom = TOP + 5 * ROW_HEIGHT;
  const title = fill(words[axis.name], { t: ladder.tensor.name });
  const parts = [
    svg("text", { x: left, y: 14, class: "fa-rung-title" }, title),
    svg("text", { x: left, y: 30 }, ladder.linear ? words.true : words.log),
  ];
  /** @type {[number, string][]} */
  const ticks = ladder.linear ? [[0, "0"], [range[1], axis.label(range[1])]] : axis.ticks;
  for (const [value, text] of ticks) {
    const far = x(value) > left + wide - 12;
    parts.push(svg("path", { d: `M${x(value)} ${TOP}V${bottom}`, class: "fa-rung-grid" }));
    parts.push(svg("text", { x: x(value), y: bottom + 16, "text-anchor": far ? "end" : value === 0 ? "start" : "middle" }, text));
  }
  if (at === 0) parts.push(...(ladder.claim ? band(ladder.claim, x, bottom) : tensorLine(ladder, x, bottom)));
  values.forEach((value, i) => parts.push(...entry(axis, at, i, value, x, ladder, words)));
  return parts;
}

/**
 * One value: a dot (log) or a bar (linear), and its number.
 * @param {typeof AXES[number]} axis
 * @param {number} at
 * @param {number} i
 * @param {number} value
 * @param {(value: number) => number} x
 * @param {Ladder} ladder
 * @param {Record<string, string>} words
 */
function entry(axis, at, i, value, x, ladder, words) {
  const { left, wide } = axis;
  const y = TOP + (i + 0.5) * ROW_HEIGHT;
  const pass = at === 3;
  const pale = pass && !ladder.tensor.holds[i];
  if (pass && ladder.tensor.hidden) return [svg("text", { x: left, y: y + 4 }, "?")];
  const host = at === 0 && i === 4; // its text stands clear of the tensor's line
  if (!Number.isFinite(value)) return [svg("text", { x: host ? left + wide : left, y: y + 4, "text-anchor": host ? "end" : "start" }, ladder.missing[at][i])];
  const ink = pass ? `fa-fill-${ladder.tensor.ink}` : "fa-rung-ink";
  const hollow = at === 1 && ladder.measured[i];
  const mark = ladder.linear
    ? svg("rect", { x: left, y: y - 6, width: Math.max(0.6, x(value) - left), height: 12, class: `${ink}${pale ? " fa-rest" : ""}` })
    : svg("circle", { cx: x(value), cy: y, r: 5, class: hollow ? "fa-rung-hollow" : `${ink}${pale ? " fa-rest" : ""}` });
  const flip = aside(x(value) > left + wide * 0.56, at === 0 && !ladder.claim && !ladder.linear ? x(ladder.tensor.size) - x(value) : NaN);
  const inside = ladder.linear && flip;
  const claim = at === 0 && i === 1 ? ladder.claim : null;
  const ring = at === 0 && ladder.claim && (i === 1 || i === 2) ? [svg("circle", { cx: x(i === 1 ? ladder.claim.low : ladder.claim.high), cy: y, r: 9, class: "fa-rung-ring" })] : [];
  const text = claim ? fill(words.with_l1, { a: axis.label(value), b: axis.label(claim.low) }) : axis.label(value);
  const label = svg("text", {
    x: x(claim ? claim.low : value) + (flip ? -11 : ring.length ? 15 : 11), y: inside ? y - 10 : y + 4, "text-anchor": flip ? "end" : "start",
    class: pale ? "fa-rung-pale" : "fa-number", "data-rung": i,
  }, text);
  return [mark, ...ring, label];
}

/**
 * Whether a number stands left of its dot: where it would, unless the tensor's line runs through it there.
 * @param {boolean} flip
 * @param {number} line  from the dot to the line
 */
function aside(flip, line) {
  const through = (/** @type {boolean} */ left) => (left ? line < -6 && line > -72 : line > 6 && line < 72);
  return through(flip) && !through(!flip) ? !flip : flip;
}

/**
 * The tensor across all rows of the size axis, and at each level whether it fits.
 * @param {Ladder} ladder
 * @param {(value: number) => number} x
 * @param {number} bottom
 */
function tensorLine(ladder, x, bottom) {
  const { tensor } = ladder;
  const at = x(tensor.size);
  const flip = at > AXES[0].left + AXES[0].wide * 0.7;
  const ticks = tensor.hidden ? [] : tensor.holds.map((holds, i) => {
    const y = TOP + (i + 0.5) * ROW_HEIGHT;
    return svg("path", { d: holds ? `M${TICK - 6} ${y}l4 5l8 -10` : `M${TICK - 4} ${y + 5}l8 -10`, class: holds ? "fa-tick" : "fa-rung-slash" });
  });
  return [
    svg("path", { d: `M${at} ${TOP - 8}V${bottom}`, class: `fa-rung-tensor fa-rung-of-${tensor.ink}` }),
    svg("text", { x: at + (flip ? 4 : -4), y: TOP - 10, "text-anchor": flip ? "end" : "start", class: `fa-name fa-ink-${tensor.ink}` },
      `${tensor.name} ${amount(tensor.size)}`),
    ...ticks,
  ];
}

/**
 * What the claim says, across all rows: its two ends meet two different levels.
 * @param {{ from: number, to: number }} claim
 * @param {(value: number) => number} x
 * @param {number} bottom
 */
function band({ from, to }, x, bottom) {
  return [
    svg("rect", { x: x(from), y: TOP - 8, width: x(to) - x(from), height: bottom - TOP + 8, class: "fa-rung-band" }),
    svg("text", { x: (x(from) + x(to)) / 2, y: TOP - 10, "text-anchor": "middle", class: "fa-name fa-ink-stat" }, "20–40 MB"),
  ];
}
