// @ts-check
// BLOCK_M x BLOCK_N as cells with a number each; one is chosen. Draws only.
import { svg } from "./dom.js";

const [GRID_LEFT, GRID_TOP, CELL_W, CELL_H, CELL_GAP] = [64, 36, 76, 48, 4];

/**
 * @typedef {{ text: string, level: number, state: "fits" | "spills" | "none", note: string, chosen: boolean, label: string }} Cell
 * @param {number[]} blocks
 * @param {(m: number, n: number) => void} choose
 */
export function tileGrid(blocks, choose) {
  const side = blocks.length;
  const size = { w: GRID_LEFT + side * (CELL_W + CELL_GAP), h: GRID_TOP + side * (CELL_H + CELL_GAP) };
  const root = svg("svg", { viewBox: `0 0 ${size.w} ${size.h}`, class: "fa-tilegrid", role: "radiogroup" });
  root.append(svg("text", { x: 0, y: GRID_TOP - 8, class: "fa-name fa-ink-q" }, "BLOCK_M"), svg("text", { x: GRID_LEFT, y: 12, class: "fa-name fa-ink-k" }, "BLOCK_N"));
  blocks.forEach((block, i) => {
    const x = GRID_LEFT + i * (CELL_W + CELL_GAP) + CELL_W / 2;
    const y = GRID_TOP + i * (CELL_H + CELL_GAP) + CELL_H / 2 + 4;
    root.append(svg("text", { x, y: GRID_TOP - 8, "text-anchor": "middle", class: "fa-name fa-ink-k" }, String(block)));
    root.append(svg("text", { x: GRID_LEFT - 12, y, "text-anchor": "end", class: "fa-name fa-ink-q" }, String(block)));
  });
  const cells = blocks.flatMap((m, r) => blocks.map((n, c) => {
    const [x, y] = [GRID_LEFT + c * (CELL_W + CELL_GAP), GRID_TOP + r * (CELL_H + CELL_GAP)];
    const box = svg("rect", { x, y, width: CELL_W, height: CELL_H, rx: 4, class: "fa-tilecell", role: "radio", tabindex: "0" });
    const slash = svg("path", { class: "fa-tilecell-slash" });
    const text = svg("text", { x: x + CELL_W / 2, y: y + 21, "text-anchor": "middle" });
    const note = svg("text", { x: x + CELL_W / 2, y: y + 38, "text-anchor": "middle", class: "fa-tilecell-note" });
    box.addEventListener("click", () => choose(m, n));
    box.addEventListener("keydown", (event) => {
      const key = /** @type {KeyboardEvent} */ (event).key;
      if (key !== "Enter" && key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      choose(m, n);
    });
    return { m, n, x, y, box, slash, text, note, key: "" };
  }));
  for (const cell of cells) root.append(cell.box, cell.slash, cell.text, cell.note);
  return {
    root,
    /** @param {(m: number, n: number) => Cell} of */
    draw(of) {
      for (const place of cells) {
        const { m, n, x, y, box, slash, text, note } = place;
        const cell = of(m, n);
        const key = JSON.stringify(cell);
        if (key === place.key) continue; // most steps change two cells
        place.key = key;
        box.setAttribute("class", `fa-tilecell fa-tilecell-${cell.state}${cell.chosen ? " fa-tilecell-chosen" : ""}`);
        box.setAttribute("aria-checked", String(cell.chosen));
        box.setAttribute("aria-label", cell.label);
        box.style.setProperty("fill-opacity", cell.state === "none" ? "0" : (0.06 + 0.3 * cell.level).toFixed(3));
        const up = `M${x + 4} ${y + 13}l8 -8`;
        const down = `M${x + 4} ${y + 5}l8 8`;
        slash.setAttribute("d", cell.state === "none" ? up : cell.state === "spills" ? down : "");
        text.textContent = cell.text;
        text.setAttribute("class", cell.state === "none" ? "fa-tilecell-out" : `fa-number${cell.chosen ? " fa-now" : ""}`);
        note.textContent = cell.note;
      }
    },
  };
}
