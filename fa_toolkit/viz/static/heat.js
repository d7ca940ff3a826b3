// @ts-check
// A tile's numbers as opacity of its tensor's colour: a few paths, one for each level of opacity.
import { svg } from "./dom.js";
import { rectangle } from "./plane.js";

const LEVELS = 10;
export const MOST_CELLS = 32; // on a side; more numbers are averaged, and the player says so

/**
 * @typedef {{ rows: number, cols: number, data: ArrayLike<number> }} Values
 */

/**
 * The level of every number, 0 (weakest) to LEVELS - 1; -1 for what is not finite.
 * @param {ArrayLike<number>} data
 * @param {[number, number]} range
 */
export function levels(data, [low, high]) {
  const span = high - low || 1;
  return Int8Array.from(data, (x) =>
    Number.isFinite(x) ? Math.min(LEVELS - 1, Math.max(0, Math.floor((LEVELS * (x - low)) / span))) : -1);
}

/**
 * How many numbers one cell stands for, on a side.
 * @param {number} count
 */
export function pooling(count) {
  return Math.ceil(count / MOST_CELLS);
}

/**
 * Means over blocks where a tile has more numbers than cells.
 * @param {Values} values
 * @param {number} a  rows a cell stands for
 * @param {number} b  columns a cell stands for
 * @returns {Values}
 */
export function pooled(values, a, b) {
  if (a === 1 && b === 1) return values;
  const [rows, cols] = [Math.ceil(values.rows / a), Math.ceil(values.cols / b)];
  const data = new Float32Array(rows * cols);
  const count = new Float32Array(rows * cols);
  for (let r = 0; r < values.rows; r++) {
    for (let c = 0; c < values.cols; c++) {
      const at = Math.floor(r / a) * cols + Math.floor(c / b);
      const x = values.data[r * values.cols + c];
      if (Number.isFinite(x)) (data[at] += x), (count[at] += 1);
    }
  }
  return { rows, cols, data: data.map((sum, i) => (count[i] ? sum / count[i] : -Infinity)) };
}

/**
 * A heat map at a fixed place.
 * @param {SVGElement} box
 * @param {{ x: number, y: number, cell: number, rows: number, cols: number, ink: string }} at
 *   rows and cols as they are in a full tile
 */
export function heat(box, at) {
  const group = svg("g", { class: `fa-heat fa-fill-${at.ink}` });
  const shown = { rows: Math.ceil(at.rows / pooling(at.rows)), cols: Math.ceil(at.cols / pooling(at.cols)) };
  const whole = rectangle(at.x, at.y, shown.cols * at.cell - 1, shown.rows * at.cell - 1);
  const outline = svg("path", { class: "fa-absent", d: whole });
  const block = svg("path", { class: "fa-block-solid", d: "" });
  const paths = Array.from({ length: LEVELS }, (_, i) =>
    svg("path", { "fill-opacity": (0.08 + (0.92 * i) / (LEVELS - 1)).toFixed(2) }));
  const blank = svg("path", { class: "fa-blank" });
  const chosen = svg("path", { class: "fa-chosen" });
  group.append(outline, block, ...paths, blank, chosen);
  box.append(group);
  /** @type {Values | null} */
  let drawn = null;
  const gap = at.cell > 5 ? 1 : 0;
  return {
    /**
     * @param {Values | null} values  null: not on chip now
     * @param {[number, number]} range
     * @param {[number, number] | null} pick  the followed cell
     */
    draw(values, range, pick = null) {
      const [a, b] = [pooling(at.rows), pooling(at.cols)];
      drawn = values;
      outline.style.display = values ? "none" : "";
      block.setAttribute("d", "");
      const d = Array.from({ length: LEVELS }, () => "");
      let none = "";
      if (values) {
        const small = pooled(values, a, b);
        const level = levels(small.data, range);
        for (let i = 0; i < level.length; i++) {
          const shape = rectangle(at.x + (i % small.cols) * at.cell, at.y + Math.floor(i / small.cols) * at.cell, at.cell - gap, at.cell - gap);
          if (level[i] < 0) none += shape;
          else d[level[i]] += shape;
        }
      }
      paths.forEach((path, i) => path.setAttribute("d", d[i]));
      blank.setAttribute("d", none);
      chosen.setAttribute("d", values && pick
        ? rectangle(at.x + Math.floor(pick[1] / b) * at.cell - 0.5, at.y + Math.floor(pick[0] / a) * at.cell - 0.5, at.cell, at.cell) : "");
    },
    /**
     * On chip, but its numbers are not on the tape.
     * @param {boolean} on
     */
    solid(on) {
      drawn = null;
      outline.style.display = on ? "none" : "";
      block.setAttribute("d", on ? whole : "");
    },
    /**
     * The number under a point.
     * @param {number} px
     * @param {number} py
     */
    hit(px, py) {
      const [r, c] = [Math.floor((py - at.y) / at.cell), Math.floor((px - at.x) / at.cell)];
      if (!drawn || r < 0 || c < 0 || r >= shown.rows || c >= shown.cols) return null;
      const [a, b] = [pooling(at.rows), pooling(at.cols)];
      const [row, col] = [r * a, c * b];
      if (row >= drawn.rows || col >= drawn.cols) return null;
      return { row, col, value: pooled(drawn, a, b).data[r * Math.ceil(drawn.cols / b) + c] };
    },
  };
}
