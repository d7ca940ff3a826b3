// @ts-check
// What is on chip: heat maps of the tiles in fixed places, m and l with their numbers, a line to read.
import { html, svg } from "./dom.js";
import { heat, pooling } from "./heat.js";
import { plain } from "./numbers.js";

/**
 * @typedef {{ name: string, x: number, y: number, w: number, ink: string, column?: boolean }} Slot
 * @typedef {import("./film.js").Film} Film
 */

const ROW = 82;
const TALL = 56;

/** @type {{ height: number, slots: Slot[] }} */
const FORWARD = {
  height: 166,
  slots: [
    { name: "q", x: 0, y: 22, w: 112, ink: "q" },
    { name: "k", x: 128, y: 22, w: 112, ink: "k" },
    { name: "v", x: 256, y: 22, w: 112, ink: "v" },
    { name: "s", x: 400, y: 22, w: 78, ink: "s" },
    { name: "acc", x: 0, y: 22 + ROW, w: 112, ink: "o" },
    { name: "m", x: 128, y: 22 + ROW, w: 14, ink: "stat", column: true },
    { name: "l", x: 214, y: 22 + ROW, w: 14, ink: "stat", column: true },
    { name: "alpha", x: 300, y: 22 + ROW, w: 14, ink: "stat", column: true },
    { name: "p", x: 400, y: 22 + ROW, w: 78, ink: "s" },
  ],
};
/** @type {{ height: number, slots: Slot[] }} */
const BACKWARD = {
  height: 166 + ROW,
  slots: [
    { name: "q", x: 0, y: 22, w: 108, ink: "q" },
    { name: "do", x: 123, y: 22, w: 108, ink: "o" },
    { name: "k", x: 246, y: 22, w: 108, ink: "k" },
    { name: "v", x: 369, y: 22, w: 108, ink: "v" },
    { name: "p", x: 0, y: 22 + ROW, w: 78, ink: "s" },
    { name: "dp", x: 100, y: 22 + ROW, w: 78, ink: "s" },
    { name: "ds", x: 200, y: 22 + ROW, w: 78, ink: "s" },
    { name: "lse", x: 308, y: 22 + ROW, w: 14, ink: "stat", column: true },
    { name: "delta", x: 394, y: 22 + ROW, w: 14, ink: "stat", column: true },
    { name: "dq", x: 0, y: 22 + 2 * ROW, w: 108, ink: "q" },
    { name: "dk", x: 123, y: 22 + 2 * ROW, w: 108, ink: "k" },
    { name: "dv", x: 246, y: 22 + 2 * ROW, w: 108, ink: "v" },
    { name: "o", x: 369, y: 22 + 2 * ROW, w: 108, ink: "o" },
  ],
};
/** @type {Record<string, { height: number, slots: Slot[] }>} */
const SLOTS = { flash_forward: FORWARD, decode: FORWARD, flash_backward: BACKWARD };
const SYMBOLS = /** @type {Record<string, string>} */ (
  { alpha: "factor", do: "dO", dq: "dQ", dk: "dK", dv: "dV", dp: "dP", ds: "dS", o: "O", delta: "Delta" }
);
const FOLLOWED = new Set(["s", "p", "dp", "ds"]);

/**
 * @param {any} head
 * @param {Record<string, string>} words
 * @param {(name: string, row: number, col: number) => void} pick  a number was clicked
 */
export function chip(head, words, pick) {
  const plan = SLOTS[head.algorithm];
  const box = svg("svg", { viewBox: `0 0 478 ${plan.height}`, class: "fa-chip", role: "img" });
  const reading = html("span", { class: "fa-reading" });
  const maps = plan.slots.map((slot) => {
    const [rows, cols] = head.shapes[slot.name];
    const [down, across] = [Math.ceil(rows / pooling(rows)), Math.ceil(cols / pooling(cols))];
    const cell = Math.min(14, slot.w / across, TALL / down);
    box.append(svg("text", { x: slot.x, y: slot.y - 8, class: `fa-name fa-ink-${slot.ink}` }, SYMBOLS[slot.name] ?? slot.name));
    const map = heat(box, { x: slot.x, y: slot.y, cell, rows, cols, ink: slot.ink });
    const numbers = slot.column
      ? Array.from({ length: 4 }, (_, i) => {
          const text = svg("text", { x: slot.x + 20, y: slot.y + 11 + i * 14, class: "fa-number" });
          box.append(text);
          return text;
        })
      : [];
    return { slot, map, numbers, roomy: cell >= 13 && rows <= 4 };
  });
  const find = (/** @type {PointerEvent | MouseEvent} */ event) => {
    const area = box.getBoundingClientRect();
    const scale = 478 / (area.width || 478);
    const [x, y] = [(event.clientX - area.left) * scale, (event.clientY - area.top) * scale];
    for (const { slot, map } of maps) {
      const found = map.hit(x, y);
      if (found) return { name: slot.name, column: slot.column, ...found };
    }
    return null;
  };
  let idle = "";
  box.addEventListener("pointermove", (event) => {
    const found = find(event);
    const at = found ? (found.column ? `[${found.row}]` : `[${found.row}, ${found.col}]`) : "";
    reading.textContent = found ? `${SYMBOLS[found.name] ?? found.name}${at} = ${plain(found.value, 4)}` : idle;
    box.style.cursor = found && FOLLOWED.has(found.name) ? "pointer" : "";
  });
  box.addEventListener("pointerleave", () => (reading.textContent = idle));
  box.addEventListener("click", (event) => {
    const found = find(event);
    if (found && (FOLLOWED.has(found.name) || found.column)) pick(found.name, found.row, found.col);
  });

  return {
    box,
    reading,
    /**
     * @param {Film} film
     * @param {number} frame
     * @param {[number, number] | null} followed  row and key within the tile
     * @param {{ hide?: Set<string> }} [more]  names whose numbers must not be shown yet
     */
    draw(film, frame, followed, more = {}) {
      idle = head.hasValues ? words.hover : "";
      reading.textContent = idle;
      for (const { slot, map, numbers, roomy } of maps) {
        const values = more.hide?.has(slot.name) ? null : film.value(frame, slot.name);
        const row = followed?.[0] ?? 0;
        if (!head.hasValues) map.solid(present(film, frame, slot.name));
        else {
          const mark = followed && FOLLOWED.has(slot.name) ? followed : null;
          map.draw(values, film.ranges[slot.name] ?? [0, 1], mark);
        }
        numbers.forEach((text, i) => {
          const shown = values && (roomy ? i < values.rows : i === 0 && row < values.rows);
          const value = values ? values.data[roomy ? i : row] : 0;
          text.textContent = shown ? (roomy ? plain(value) : `[${row}] ${plain(value)}`) : "";
          text.classList.toggle("fa-now", roomy && i === row && followed !== null);
        });
      }
    },
  };
}

/**
 * Without numbers: whether a tile of this name is on chip, from what was loaded and worked on.
 * @param {Film} film
 * @param {number} frame
 * @param {string} name
 */
function present(film, frame, name) {
  const tensor = /** @type {Record<string, string>} */ ({ q: "Q", k: "K", v: "V", do: "dO", lse: "lse", delta: "Delta", o: "O" })[name];
  if (tensor) return film.loaded(frame, tensor) >= 0;
  const working = film.tile[frame] >= 0;
  if (["s", "p", "dp", "ds"].includes(name)) return working;
  if (name === "dq") return working && film.loaded(frame, "Q") >= 0 && film.phase[frame] === 2;
  if (name === "dk" || name === "dv") return working && film.phase[frame] === 1;
  return working || (film.program[frame] >= 0 && film.loaded(frame, "Q") >= 0);
}
