// @ts-check
// Tensors of a recorded kernel as plates: what was touched, this step's lanes, and those masked off outside.
import { html, svg } from "./dom.js";
import { rectangle } from "./plane.js";

/** @typedef {import("./kernel_frames.js").KernelReel} KernelReel */

const LANE_GAP = 1;
const [CAPTION, BETWEEN_PLATES, LINE, ROOM] = [86, 18, 33, 320]; // pixels of a plate's name, between plates, around one, for all

/**
 * How large an element is drawn: the largest size at which all plates, set line by line, fit.
 * @param {{ rows: number, cols: number }[]} sizes
 * @param {number} width
 * @param {number} height
 */
export function cellSize(sizes, width, height) {
  for (let cell = 13; cell > 2; cell--) {
    let [x, y, tall, wide] = [0, 0, 0, 0];
    for (const { rows, cols } of sizes) {
      const own = Math.max(cols * cell, CAPTION) + BETWEEN_PLATES;
      if (x > 0 && x + own > width + BETWEEN_PLATES) [x, y, tall] = [0, y + tall, 0];
      x += own;
      wide = Math.max(wide, x);
      tall = Math.max(tall, rows * cell + LINE);
    }
    if (y + tall <= height && wide <= width + BETWEEN_PLATES) return cell;
  }
  return 2;
}

/**
 * Rows and columns a plate needs: the tensor and the lanes that stand outside it.
 * @param {KernelReel} reel
 * @param {number} tensor
 */
export function extent(reel, tensor) {
  const plate = reel.table.plates[tensor];
  let [rows, cols] = [plate.rows, plate.cols];
  for (let i = 0; i < reel.tensor.length; i++) {
    if (reel.tensor[i] !== tensor) continue;
    const block = reel.block(i);
    rows = Math.max(rows, block.row + block.rows);
    cols = Math.max(cols, block.col + block.cols);
  }
  return { rows: Math.min(rows, 2 * plate.rows + 16), cols: Math.min(cols, 2 * plate.cols + 16) };
}

/**
 * All plates of one reel.
 * @param {KernelReel} reel
 * @param {number} width
 */
export function plates(reel, width) {
  const sizes = reel.table.plates.map((_, tensor) => extent(reel, tensor));
  const cell = cellSize(sizes, width, ROOM);
  const drawn = reel.table.plates.map((plate, tensor) => {
    const { rows, cols } = sizes[tensor];
    const box = svg("svg", { width: cols * cell + 3, height: rows * cell + 3, viewBox: `-1.5 -1.5 ${cols * cell + 3} ${rows * cell + 3}`, role: "img", class: "fa-plate-box" });
    const path = (/** @type {string} */ name) => {
      const made = svg("path", { d: "", class: name });
      box.append(made);
      return made;
    };
    const frame = rectangle(0, 0, plate.cols * cell, plate.rows * cell);
    const parts = {
      ground: path(plate.stored ? "fa-absent" : `fa-fill-${plate.ink} fa-rest`), done: path(`fa-fill-${plate.ink} fa-plate-done`),
      on: path(`fa-fill-${plate.ink} fa-lit`), off: path("fa-lane-off"),
    };
    parts.ground.setAttribute("d", frame);
    const root = html("figure", { class: "fa-kernel-plate" }, html("figcaption", { class: `fa-ink-${plate.ink}` }, plate.name,
      html("span", { class: "fa-soft" }, ` ${plate.rows} × ${plate.cols}`)));
    root.append(box);
    return { root, box, parts, tensor, plate };
  });
  const at = (/** @type {number} */ row, /** @type {number} */ col, /** @type {number} */ rows, /** @type {number} */ cols) =>
    rectangle(col * cell, row * cell, Math.max(1, cols * cell - LANE_GAP), Math.max(1, rows * cell - LANE_GAP));
  const write = (/** @type {SVGElement} */ element, /** @type {string} */ d) => {
    if (element.getAttribute("d") !== d) element.setAttribute("d", d);
  };
  return {
    root: html("div", { class: "fa-plates" }, ...drawn.map((one) => one.root)),
    /**
     * @param {number} step
     * @param {boolean} hide  do not show which lanes are off: the reader is asked
     */
    draw(step, hide) {
      const here = reel.span(step);
      for (const { box, parts, tensor, plate } of drawn) {
        let [done, on, off] = ["", "", ""];
        for (let i = 0; i < here.end; i++) {
          if (reel.tensor[i] !== tensor) continue;
          const [r0, r1, c0, c1] = reel.box(i);
          if (i < here.first) {
            if (reel.kind[i] !== 0) done += at(r0, c0, r1 - r0, c1 - c0);
            continue;
          }
          on += at(r0, c0, r1 - r0, c1 - c0);
          if (!hide) off += maskedOff(reel.block(i), at);
        }
        write(parts.done, done);
        write(parts.on, on);
        write(parts.off, off);
        box.setAttribute("aria-label", `${plate.name}: ${plate.rows} × ${plate.cols}`);
      }
    },
  };
}

/**
 * Lanes a mask switches off, one small square each; runs of them joined by row.
 * @param {{ row: number, col: number, rows: number, cols: number, mask: ArrayLike<number> }} block
 * @param {(row: number, col: number, rows: number, cols: number) => string} at
 */
function maskedOff(block, at) {
  let path = "";
  for (let r = 0; r < block.rows; r++) {
    for (let c = 0; c < block.cols; c++) {
      if (!block.mask[r * block.cols + c]) path += at(block.row + r, block.col + c, 1, 1);
    }
  }
  return path;
}
