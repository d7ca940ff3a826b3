// @ts-check
// The pictures of the traffic player: one algorithm's tensors in HBM, and its bill by tensor.
import { fill, html, mark, svg } from "./dom.js";
import { weight } from "./numbers.js";
import { bills } from "./race.js";
import { sheets } from "./sheets.js";
import { TENSORS } from "./walk.js";

/**
 * @typedef {import("./walk.js").Walk} Walk
 * @typedef {import("./walk.js").Sizes} Sizes
 */

const SIDE = 180;
const TOP = 58;
const STRIP = 16;
const INKS = /** @type {Record<string, string>} */ ({ Q: "q", K: "k", V: "v", S: "s", P: "s", O: "o", lse: "stat", m: "stat", l: "stat" });

/**
 * Places of the tensors, standard attention.
 * @param {Sizes} sizes
 */
export function standardSheets(sizes) {
  const { rows, cols, tall } = grid(sizes);
  const sheet = (/** @type {string} */ tensor, /** @type {number[]} */ [x, y, w, h], /** @type {number[]} */ [r, c], /** @type {any} */ label, given = false) =>
    ({ tensor, x, y, w, h, rows: r, cols: c, ink: INKS[tensor], given, label });
  const top = TOP;
  return {
    height: top + tall + 36,
    width: 44 + 2 * SIDE + 76,
    plan: [
      sheet("Q", [16, top, STRIP, tall], [rows, 1], { x: 24, y: top - 7 }, true),
      sheet("K", [44, 20, SIDE, STRIP], [1, cols], { x: 36, y: 33, anchor: "end" }, true),
      sheet("S", [44, top, SIDE, tall], [rows, cols], { x: 44 + SIDE, y: top + tall + 17, anchor: "end" }),
      sheet("V", [76 + SIDE, 20, SIDE, STRIP], [1, cols], { x: 68 + SIDE, y: 33, anchor: "end" }, true),
      sheet("P", [76 + SIDE, top, SIDE, tall], [rows, cols], { x: 76 + 2 * SIDE, y: top + tall + 17, anchor: "end" }),
      sheet("O", [88 + 2 * SIDE, top, STRIP, tall], [rows, 1], { x: 96 + 2 * SIDE, y: top - 7 }),
    ],
  };
}

/**
 * Places of the tensors, Flash Attention.
 * @param {Sizes} sizes
 * @param {string} order
 */
export function flashSheets(sizes, order) {
  const { rows, cols, tall } = grid(sizes);
  const top = TOP;
  const base = { rows: 1, cols: 1 };
  const row = order === "fa1" ? ["m", "l"] : ["lse"];
  return {
    height: top + tall + 36,
    width: 44 + SIDE + 116,
    plane: { x: 44, y: top, w: SIDE, h: tall },
    plan: [
      { ...base, tensor: "Q", x: 16, y: top, w: STRIP, h: tall, rows, ink: "q", given: true, label: { x: 24, y: top - 7 } },
      { ...base, tensor: "K", x: 44, y: 20, w: SIDE, h: STRIP, cols, ink: "k", given: true, label: { x: 36, y: 33, anchor: "end" } },
      { ...base, tensor: "V", x: 44, y: top + tall + 12, w: SIDE, h: STRIP, cols, ink: "v", given: true, label: { x: 36, y: top + tall + 25, anchor: "end" } },
      { ...base, tensor: "O", x: 56 + SIDE, y: top, w: STRIP, h: tall, rows, ink: "o", label: { x: 64 + SIDE, y: top - 7 } },
      ...row.map((tensor, i) => ({ ...base, tensor, x: 90 + SIDE + 26 * i, y: top, w: 6, h: tall, rows, ink: "stat", label: { x: 93 + SIDE + 26 * i, y: top - 7 } })),
    ],
  };
}

/** @param {Sizes} sizes */
function grid(sizes) {
  return {
    rows: Math.ceil(sizes.lenQ / sizes.blockM), cols: Math.ceil(sizes.lenK / sizes.blockN),
    tall: sizes.lenQ === 1 ? STRIP : SIDE,
  };
}

/**
 * Tiles of a tensor that a box covers.
 * @param {import("./sheets.js").Sheet} sheet
 * @param {Sizes} sizes
 * @param {number[]} box
 */
function cover(sheet, sizes, box) {
  const keyed = sheet.tensor === "K" || sheet.tensor === "V";
  const [r0, r1] = keyed ? [0, 1] : [Math.floor(box[0] / sizes.blockM), Math.ceil(box[1] / sizes.blockM)];
  const square = sheet.tensor === "S" || sheet.tensor === "P";
  const [c0, c1] = keyed ? [Math.floor(box[0] / sizes.blockN), Math.ceil(box[1] / sizes.blockN)]
    : square ? [Math.floor(box[2] / sizes.blockN), Math.ceil(box[3] / sizes.blockN)] : [0, 1];
  const cells = [];
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) cells.push(r * sheet.cols + c);
  return cells;
}

/**
 * One algorithm's picture.
 * @param {Walk} walk
 * @param {Sizes} sizes
 * @param {any} places
 * @param {Record<string, string>} words
 * @param {string} title
 */
export function sidePicture(walk, sizes, places, words, title) {
  const box = svg("svg", { viewBox: `0 0 ${places.width} ${places.height}`, class: "fa-sheets", role: "img", style: `max-width: ${places.width}px` });
  if (places.plane) {
    const { x, y, w, h } = places.plane;
    box.append(svg("rect", { x, y, width: w, height: h, class: "fa-absent" }));
    if (h > 40) {
      box.append(svg("text", { x: x + w / 2, y: y + h / 2 - 2, "text-anchor": "middle" }, "S, P"));
      box.append(svg("text", { x: x + w / 2, y: y + h / 2 + 14, "text-anchor": "middle" }, words.never));
    }
  }
  const drawn = sheets(box, places.plan);
  /** @type {Map<string, Int32Array>} first event that stores a tile */
  const first = new Map(places.plan.map((/** @type {any} */ sheet) => [sheet.tensor, new Int32Array(sheet.rows * sheet.cols).fill(1 << 30)]));
  const byName = new Map(places.plan.map((/** @type {any} */ sheet) => [sheet.tensor, sheet]));
  for (let i = walk.bytes.length - 1; i >= 0; i--) {
    const name = TENSORS[walk.tensor[i]];
    if (walk.kind[i] === 1 && byName.has(name)) {
      for (const cell of cover(byName.get(name), sizes, walk.box.slice(4 * i, 4 * i + 4))) /** @type {Int32Array} */ (first.get(name))[cell] = i;
    }
  }
  const phases = walk.phases.map((phase) => html("span", { class: "fa-phase" }, words[`phase_${phase}`]));
  const doing = html("div", { class: "fa-doing" });
  const root = html("div", { class: "fa-side-of" }, html("h4", {}, title), html("div", { class: "fa-phases" }, ...phases), box, doing);
  return {
    root,
    /**
     * @param {number} from
     * @param {number} to  the events of this step
     */
    draw(from, to) {
      /** @type {Map<string, { read: Set<number>, written: Set<number> }>} */
      const touched = new Map();
      for (let i = from; i < to; i++) {
        const name = TENSORS[walk.tensor[i]];
        const sheet = byName.get(name);
        if (!sheet) continue;
        if (!touched.has(name)) touched.set(name, { read: new Set(), written: new Set() });
        const set = /** @type {any} */ (touched.get(name))[walk.kind[i] ? "written" : "read"];
        for (const cell of cover(sheet, sizes, walk.box.slice(4 * i, 4 * i + 4))) set.add(cell);
      }
      drawn.draw((tensor) => ({
        read: touched.get(tensor)?.read ?? new Set(),
        written: touched.get(tensor)?.written ?? new Set(),
        stored: (i) => /** @type {Int32Array} */ (first.get(tensor))[i] < to,
      }));
      const names = (/** @type {"read" | "written"} */ way) => [...touched].filter(([, t]) => t[way].size).map(([name]) => name).join(", ");
      const finished = to >= walk.bytes.length && from >= to;
      const [reads, writes] = [names("read"), names("written")];
      mark(doing, finished ? words.finished : [reads && fill(words.reads, { names: reads }), writes && fill(words.writes, { names: writes })].filter(Boolean).join("   "));
      const phase = to > 0 ? walk.phase[to - 1] : -1;
      phases.forEach((span, i) => {
        span.classList.toggle("fa-now", i === phase && !finished);
        span.classList.toggle("fa-past", i < phase || finished);
      });
      box.setAttribute("aria-label", `${title}: ${doing.textContent}`);
    },
  };
}

/**
 * Bytes by tensor, both ways, of both algorithms.
 * @param {Walk[]} walks
 * @param {Record<string, string>} words
 * @param {string[]} names
 */
export function tensorTable(walks, words, names) {
  const used = TENSORS.filter((_, t) => walks.some((walk) => walk.tensor.includes(t)));
  const sums = walks.map((walk) => bills(walk, TENSORS.length));
  const rows = walks.flatMap((_, w) => [0, 1].map((way) => {
    const cells = used.map(() => html("td", {}));
    const root = html("tr", {}, html("th", { scope: "row" }, way === 0 ? names[w] : ""), html("td", { class: "fa-way" }, way ? words.written : words.read), ...cells);
    return { w, way: /** @type {0 | 1} */ (way), cells, root };
  }));
  const headings = used.map((name) => html("th", { scope: "col", class: `fa-ink-${INKS[name]}` }, name));
  const root = html("table", { class: "fa-tensors" }, html("thead", {}, html("tr", {}, html("th", {}), html("th", {}), ...headings)), html("tbody", {}, ...rows.map((row) => row.root)));
  return {
    root,
    /** @param {number[]} stops */
    draw(stops) {
      for (const { w, way, cells } of rows) {
        used.forEach((name, i) => {
          const moved = sums[w].of(stops[w], TENSORS.indexOf(name), way);
          const ever = sums[w].of(walks[w].bytes.length, TENSORS.indexOf(name), way);
          cells[i].textContent = ever ? weight(moved) : "–";
          cells[i].className = moved ? "" : "fa-soft";
        });
      }
    },
  };
}
