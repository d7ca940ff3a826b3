// @ts-check
// Tensors in HBM as sheets of tiles: not there yet, at rest, being read, being written.
import { svg } from "./dom.js";
import { rectangle, runs } from "./plane.js";

/**
 * @typedef {{
 *   tensor: string, x: number, y: number, w: number, h: number, rows: number, cols: number, ink: string,
 *   given?: boolean, never?: boolean, label: { x: number, y: number, anchor?: string, text?: string },
 * }} Sheet
 */

/**
 * Sheets at fixed places.
 * @param {SVGElement} box
 * @param {Sheet[]} plan
 */
export function sheets(box, plan) {
  const parts = plan.map((sheet) => {
    const at = { x: sheet.x, y: sheet.y, w: sheet.w / sheet.cols, h: sheet.h / sheet.rows };
    const path = (/** @type {string} */ name, d = "") => {
      const made = svg("path", { class: name, d });
      box.append(made);
      return made;
    };
    const whole = rectangle(sheet.x, sheet.y, sheet.w, sheet.h);
    path(sheet.given ? `fa-rest fa-fill-${sheet.ink}` : "fa-absent", whole);
    const stored = path(`fa-rest fa-fill-${sheet.ink}`);
    const grid = path("fa-grid");
    if (Math.min(at.w, at.h) >= 5 && sheet.rows * sheet.cols > 1) grid.setAttribute("d", lines(sheet, at));
    const written = path(`fa-writing fa-fill-${sheet.ink}`);
    const read = path(`fa-lit fa-fill-${sheet.ink}`);
    const { label } = sheet;
    box.append(svg("text", { x: label.x, y: label.y, "text-anchor": label.anchor ?? "middle", class: `fa-name fa-ink-${sheet.ink}` }, sheet.tensor));
    const cells = (/** @type {Set<number>} */ set) => {
      if (set.size === sheet.rows * sheet.cols) return whole;
      return runs(at, sheet.rows, sheet.cols, (i) => set.has(i));
    };
    return { sheet, stored, written, read, cells, whole };
  });
  return {
    /** @param {(tensor: string) => { read: Set<number>, written: Set<number>, stored: (i: number) => boolean }} state */
    draw(state) {
      for (const { sheet, stored, written, read, cells } of parts) {
        const now = state(sheet.tensor);
        read.setAttribute("d", cells(now.read));
        written.setAttribute("d", cells(now.written));
        const at = { x: sheet.x, y: sheet.y, w: sheet.w / sheet.cols, h: sheet.h / sheet.rows };
        stored.setAttribute("d", sheet.given || sheet.never ? "" : solidRuns(at, sheet.rows, sheet.cols, now.stored));
      }
    },
  };
}

/**
 * Runs that touch, whatever the size of a tile.
 * @param {{ x: number, y: number, w: number, h: number }} at
 * @param {number} rows
 * @param {number} cols
 * @param {(i: number) => boolean} test
 */
function solidRuns(at, rows, cols, test) {
  let d = "";
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < cols; c++) {
      if (!test(r * cols + c)) continue;
      const from = c;
      while (c + 1 < cols && test(r * cols + c + 1)) c++;
      d += rectangle(at.x + from * at.w, at.y + r * at.h, (c - from + 1) * at.w, at.h);
    }
  }
  return d;
}

/**
 * Thin lines between tiles.
 * @param {Sheet} sheet
 * @param {{ w: number, h: number }} at
 */
function lines(sheet, at) {
  let d = "";
  for (let r = 1; r < sheet.rows; r++) d += `M${sheet.x} ${sheet.y + r * at.h}h${sheet.w}`;
  for (let c = 1; c < sheet.cols; c++) d += `M${sheet.x + c * at.w} ${sheet.y}v${sheet.h}`;
  return d;
}
