// @ts-check
// Bars that start at zero and carry their number, and rows of a live formula aligned at the colon.
import { html, mark } from "./dom.js";

/** @typedef {ReturnType<typeof bars>} Bars */

/**
 * A titled group of bars.
 * @param {string} title
 * @param {string[]} labels
 * @param {string} [note]
 */
export function bars(title, labels, note = "") {
  const rows = labels.map((label) => {
    const [bar, whole] = [html("i"), html("u")];
    const name = html("span", {}, label);
    const value = html("span", { class: "fa-bar-value" });
    const root = html("div", { class: "fa-bar-row" }, name, html("span", { class: "fa-bar-track" }, whole, bar), value);
    return { root, bar, whole, value, name };
  });
  const root = html("div", { class: "fa-ledger" }, html("h4", {}, title), ...rows.map((row) => row.root),
    ...(note ? [html("div", { class: "fa-ledger-note" }, note)] : []));
  return {
    root,
    rows,
    /** @param {{ part: number, whole?: number, text: string }[]} values  shares of the track: so far, in the end */
    draw(values) {
      const wide = (/** @type {number} */ share) => `${share > 0 ? Math.min(100, Math.max(0.8, 100 * share)) : 0}%`;
      values.forEach(({ part, whole = 0, text }, i) => {
        rows[i].bar.style.width = wide(part);
        rows[i].whole.style.width = wide(whole);
        rows[i].value.textContent = text;
      });
    },
  };
}

/**
 * Rows "name: text"; always as many, so that nothing jumps.
 * @param {number} count
 */
export function formula(count) {
  const rows = Array.from({ length: count }, (_, i) => ({
    name: html("span", { class: "fa-of", style: `grid-area: ${i + 1} / 1` }),
    text: html("span", { class: "fa-row", style: `grid-area: ${i + 1} / 2` }),
  }));
  const root = html("div", { class: "fa-formula" }, ...rows.flatMap((row) => [row.name, row.text]));
  return {
    root,
    rows,
    /** @param {{ name: string, ink: string, text: string, lit?: boolean }[]} lines */
    draw(lines) {
      rows.forEach((row, i) => {
        const line = lines[i];
        row.name.className = line ? `fa-of fa-ink-${line.ink}` : "fa-of";
        row.name.textContent = line ? `${line.name}:` : "";
        row.text.className = line?.lit ? "fa-row fa-lit" : "fa-row";
        mark(row.text, line?.text ?? "");
      });
    },
  };
}
