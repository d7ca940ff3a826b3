// @ts-check
// The two questions of the tile player: which tiles the mask skips, and the first factor.
import { fill, html, svg } from "./dom.js";
import { judge, readNumber } from "./guess.js";

/**
 * The row where the reader types the factor.
 * @param {import("./shell.js").Shell} shell
 * @param {Record<string, string>} words
 * @param {() => number} right
 * @param {() => string} [name]  under which the guess is kept
 */
export function factorRow(shell, words, right, name = () => "factor") {
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "text", size: "9", class: "fa-guess", placeholder: "?", "aria-label": words.factor }));
  const check = html("button", { type: "button", class: "fa-plain" }, words.check);
  const show = html("button", { type: "button", class: "fa-plain" }, words.show);
  const said = html("span", { class: "fa-verdict", "aria-live": "polite" });
  const root = html("span", { class: "fa-ask-row" }, input, check, show, said);
  const submit = () => {
    const value = readNumber(input.value);
    if (value === null) return void (said.textContent = words.unreadable);
    shell.answer(name(), { text: input.value.trim(), value, verdict: judge(value, right()), step: shell.step() });
    shell.root.focus({ preventScroll: true });
  };
  check.addEventListener("click", submit);
  input.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  show.addEventListener("click", () => {
    shell.answer(name(), { text: "", value: null, verdict: "shown", step: shell.step() });
    shell.root.focus({ preventScroll: true });
  });
  return {
    root,
    input,
    /** @param {boolean} open */
    show(open) {
      const guess = shell.guess(name());
      const told = guess && guess.step === shell.step();
      root.classList.toggle("fa-open", open || Boolean(told));
      root.classList.toggle("fa-told-row", !open);
      for (const part of [input, check, show]) part.hidden = !open;
      if (open) return;
      said.textContent = !told ? ""
        : guess.verdict === "shown" ? words.shown
        : guess.verdict === "right" ? fill(words.right, { guess: guess.text })
        : fill(words.wrong, { guess: guess.text, why: words[guess.verdict] });
    },
  };
}

/**
 * "Click the tiles that can be skipped": the tiles as check boxes, and what came of it.
 * @param {import("./shell.js").Shell} shell
 * @param {SVGElement} box
 * @param {import("./plane.js").Plane} picture
 * @param {import("./film.js").Film} roll
 * @param {any} head
 * @param {ArrayLike<number>} kinds
 * @param {number} skipped
 */
export function tileQuestion(shell, box, picture, roll, head, kinds, skipped) {
  const words = shell.words();
  /** @type {Set<number>} */
  const chosen = new Set();
  const group = svg("g", { class: "fa-tile-boxes" });
  const cells = Array.from({ length: picture.marked ? roll.rows * roll.cols : 0 }, (_, i) => {
    const [r, c] = [Math.floor(i / roll.cols), i % roll.cols];
    const name = fill(words.tile_name, {
      a: r * head.blockM, b: Math.min((r + 1) * head.blockM, head.lenQ) - 1, c: c * head.blockN, d: Math.min((c + 1) * head.blockN, head.lenK) - 1,
    });
    const cell = svg("rect", {
      x: picture.at.x + c * picture.at.w + 2, y: picture.at.y + r * picture.at.h + 2, width: picture.at.w - 4, height: picture.at.h - 4,
      class: "fa-tile-box", role: "checkbox", tabindex: i === 0 ? "0" : "-1", "aria-checked": "false", "aria-label": name,
    });
    cell.addEventListener("click", () => toggle(i));
    cell.addEventListener("keydown", (event) => {
      const by = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1, ArrowDown: roll.cols, ArrowUp: -roll.cols })[event.key];
      if (event.key === " " || event.key === "Enter") toggle(i);
      else if (by !== undefined) cells[i + by]?.focus();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    group.append(cell);
    return cell;
  });
  box.append(group);
  const check = html("button", { type: "button", class: "fa-plain" }, words.check);
  const show = html("button", { type: "button", class: "fa-plain" }, words.show);
  const bar = html("div", { class: "fa-ask-bar" }, check, show);
  box.after(bar);
  check.addEventListener("click", () => settle(false));
  show.addEventListener("click", () => settle(true));
  const toggle = (/** @type {number} */ i) => {
    if (!chosen.delete(i)) chosen.add(i);
    cells[i].setAttribute("aria-checked", String(chosen.has(i)));
    shell.repaint();
  };
  const settle = (/** @type {boolean} */ shown) => {
    shell.answer("tiles", { marked: shown ? null : [...chosen].sort((a, b) => a - b) });
    shell.root.focus({ preventScroll: true });
  };
  return {
    settle,
    marked: (/** @type {number} */ i) => chosen.has(i),
    /** @param {boolean} open */
    show(open) {
      group.style.display = open ? "" : "none";
      bar.hidden = !open;
      box.parentElement?.classList.toggle("fa-guessing", open);
    },
    told() {
      const marked = shell.guess("tiles")?.marked;
      if (!marked) return fill(words.guess_shown, { n: skipped });
      const right = marked.filter((/** @type {number} */ i) => kinds[i] === 2).length;
      const wrong = marked.length - right;
      return right === skipped && wrong === 0 ? fill(words.guess_all, { n: skipped }) : fill(words.guess_some, { right, n: skipped, wrong });
    },
  };
}
