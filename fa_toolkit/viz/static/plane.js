// @ts-check
// The score plane that never exists, and the strips of the tensors around it. A few paths whose
// outline is a function of the frame, so that thousands of tiles cost no more than a dozen.
import { svg } from "./dom.js";

/** @typedef {ReturnType<typeof plane>} Plane */

/** @typedef {{ tensor: string, side: "left" | "top" | "right" | "bottom", tiles: number }} Strip */

const THICK = 24;
const GAP = 10;
const MARKED = 18; // pixels a tile must have before it carries a mark of its own
export const PLANE = 248;
export const EVERY = -2; // every tile of a strip at once

/**
 * Where everything stands, in pixels.
 * @param {number} rows
 * @param {number} cols
 * @param {Strip[]} strips
 */
export function planeLayout(rows, cols, strips) {
  const on = (/** @type {string} */ side) => strips.filter((strip) => strip.side === side);
  const w = Math.min(62, PLANE / cols);
  const h = Math.min(62, PLANE / rows);
  const x = 16 + on("left").length * (THICK + GAP) + 6;
  const y = 24 + on("top").length * (THICK + GAP) + 8;
  const right = x + cols * w;
  const bottom = y + rows * h;
  /** @type {Record<string, { x: number, y: number, w: number, h: number }>} */
  const places = {};
  on("left").forEach((s, i) => (places[s.tensor] = { x: 16 + i * (THICK + GAP), y, w: THICK, h: rows * h }));
  on("top").forEach((s, i) => (places[s.tensor] = { x, y: 24 + i * (THICK + GAP), w: cols * w, h: THICK }));
  on("right").forEach((s, i) => (places[s.tensor] = { x: right + 16 + i * (THICK + GAP), y, w: THICK, h: rows * h }));
  on("bottom").forEach((s, i) => (places[s.tensor] = { x, y: bottom + 12 + i * (THICK + GAP), w: cols * w, h: THICK }));
  return { x, y, w, h, right, bottom, places, height: bottom + 12 + on("bottom").length * (THICK + GAP) + 14 };
}

/**
 * One outline over all tiles of a grid for which `test` holds: runs of a row become one rectangle
 * when tiles are small, tiles stand apart when they are large.
 * @param {{ x: number, y: number, w: number, h: number }} at
 * @param {number} rows
 * @param {number} cols
 * @param {(index: number) => boolean} test
 */
export function runs(at, rows, cols, test) {
  const apart = Math.min(at.w, at.h) >= MARKED;
  const pad = apart ? 2 : 0;
  let d = "";
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      if (!test(r * cols + c)) continue;
      const from = c;
      while (!apart && c + 1 < cols && test(r * cols + c + 1)) c++;
      d += rectangle(at.x + from * at.w + pad, at.y + r * at.h + pad, (c - from + 1) * at.w - 2 * pad, at.h - 2 * pad);
    }
  }
  return d;
}

/**
 * @param {number} x
 * @param {number} y
 * @param {number} w
 * @param {number} h
 */
export function rectangle(x, y, w, h) {
  const f = (/** @type {number} */ n) => Math.round(n * 100) / 100;
  return `M${f(x)} ${f(y)}h${f(w)}v${f(h)}h${f(-w)}z`;
}

/**
 * A mark in the middle of a tile.
 * @param {"tick" | "rising" | "falling"} kind
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function sign(kind, x, y, size) {
  const s = Math.min(26, size * 0.42) / 2;
  if (kind === "tick") return `M${x - s * 0.55} ${y}l${s * 0.42} ${s * 0.42}l${s * 0.72} ${-s * 0.8}`;
  const down = kind === "rising" ? -1 : 1;
  return `M${x - s} ${y - down * s}l${2 * s} ${down * 2 * s}`;
}

/**
 * @param {SVGElement} box
 * @param {{ rows: number, cols: number, kinds: ArrayLike<number>, strips: Strip[], names: Record<string, string> }} plan
 *   kinds: 0 full, 1 masked at the edge, 2 skipped
 */
export function plane(box, plan) {
  const { rows, cols, kinds, strips, names } = plan;
  const at = planeLayout(rows, cols, strips);
  const marked = Math.min(at.w, at.h) >= MARKED;
  const add = (/** @type {string} */ tag, /** @type {Record<string, string | number>} */ attributes, text = "") => {
    const made = svg(tag, attributes, text);
    box.append(made);
    return made;
  };
  const every = rows * cols;
  const is = (/** @type {number} */ kind) => (/** @type {number} */ i) => kinds[i] === kind;
  const marks = (/** @type {"tick" | "rising" | "falling"} */ kind, /** @type {(i: number) => boolean} */ test) => {
    if (!marked) return "";
    let d = "";
    for (let i = 0; i < every; i++) {
      if (test(i)) d += sign(kind, at.x + ((i % cols) + 0.5) * at.w, at.y + (Math.floor(i / cols) + 0.5) * at.h, Math.min(at.w, at.h));
    }
    return d;
  };
  const frame = add("path", { class: "fa-plane-frame", d: rectangle(at.x, at.y, cols * at.w, rows * at.h) });
  frame.style.display = marked ? "none" : "";
  add("path", { class: "fa-tile-ghost", d: marked ? runs(at, rows, cols, (i) => kinds[i] !== 2) : "" });
  add("path", { class: marked ? "fa-tile-skipped" : "fa-tile-skipped fa-small", d: runs(at, rows, cols, is(2)) });
  add("path", { class: "fa-tile-slash", d: marks("rising", is(2)) });
  const edges = add("path", { class: marked ? "fa-tile-slash" : "fa-tile-edge" });
  if (!marked) edges.setAttribute("d", runs(at, rows, cols, is(1)));
  const done = add("path", { class: marked ? "fa-tick" : "fa-tile-done" });
  const guesses = add("path", { class: "fa-guess-mark" });
  const now = add("path", { class: "fa-tile-now" });
  const inside = svg("g", { class: "fa-inside" });
  box.append(inside);

  const lit = strips.map((strip) => {
    const place = at.places[strip.tensor];
    const grid = strip.side === "left" || strip.side === "right" ? [strip.tiles, 1] : [1, strip.tiles];
    const cell = { x: place.x, y: place.y, w: place.w / grid[1], h: place.h / grid[0] };
    const key = strip.tensor.toLowerCase();
    const kin = /** @type {Record<string, string>} */ ({ do: "o", parts: "o", dq: "q", dk: "k", dv: "v", lse: "stat", delta: "stat" })[key] ?? key;
    const small = Math.min(cell.w, cell.h) < 6;
    const one = (/** @type {number} */ i) => small
      ? rectangle(cell.x + (i % grid[1]) * cell.w, cell.y + Math.floor(i / grid[1]) * cell.h, Math.max(2, cell.w), Math.max(2, cell.h))
      : rectangle(cell.x + (i % grid[1]) * cell.w + 1, cell.y + Math.floor(i / grid[1]) * cell.h + 1, cell.w - 2, cell.h - 2);
    const rest = small ? rectangle(place.x, place.y, place.w, place.h) : Array.from({ length: strip.tiles }, (_, i) => one(i)).join("");
    add("path", { class: `fa-rest fa-fill-${kin}`, d: rest });
    const on = add("path", { class: `fa-lit fa-fill-${kin}` });
    const ticks = add("path", { class: small ? `fa-written fa-fill-${kin}` : "fa-tick" });
    const vertical = strip.side === "left" || strip.side === "right";
    const label = vertical
      ? { x: place.x + place.w / 2, y: place.y - 7, "text-anchor": "middle" }
      : { x: place.x - 8, y: place.y + place.h / 2 + 4, "text-anchor": "end" };
    add("text", { ...label, class: `fa-name fa-ink-${kin}` }, strip.tensor === "parts" ? names.parts : strip.tensor);
    return { strip, one, on, ticks, small, cell, grid, rest };
  });

  return {
    at,
    inside,
    marked,
    /**
     * Which tile a point is in, or -1.
     * @param {number} px
     * @param {number} py
     */
    hit(px, py) {
      const [r, c] = [Math.floor((py - at.y) / at.h), Math.floor((px - at.x) / at.w)];
      return r >= 0 && r < rows && c >= 0 && c < cols ? r * cols + c : -1;
    },
    /**
     * @param {{
     *   now: number, done: (i: number) => boolean, hideMask: boolean, guess: (i: number) => boolean,
     *   lit: (tensor: string) => number, stored: (tensor: string, i: number) => boolean,
     * }} state
     */
    draw(state) {
      const open = (/** @type {number} */ i) => i !== state.now && !state.done(i);
      now.setAttribute("d", state.now < 0 ? "" : runs(at, rows, cols, (i) => i === state.now));
      done.setAttribute("d", marked ? marks("tick", (i) => i !== state.now && state.done(i)) : runs(at, rows, cols, state.done));
      if (marked) edges.setAttribute("d", marks("falling", (i) => kinds[i] === 1 && open(i)));
      guesses.setAttribute("d", marks("rising", state.guess));
      box.classList.toggle("fa-mask-hidden", state.hideMask);
      for (const { strip, one, on, ticks, small, cell, grid, rest } of lit) {
        const index = state.lit(strip.tensor);
        on.setAttribute("d", index === EVERY ? rest : index < 0 ? "" : one(index));
        let d = "";
        for (let i = 0; i < strip.tiles; i++) {
          if (i === index || index === EVERY || !state.stored(strip.tensor, i)) continue;
          const [cx, cy] = [cell.x + ((i % grid[1]) + 0.5) * cell.w, cell.y + (Math.floor(i / grid[1]) + 0.5) * cell.h];
          d += small ? one(i) : sign("tick", cx, cy, Math.min(cell.w, cell.h) * 1.2);
        }
        ticks.setAttribute("d", d);
      }
    },
  };
}
