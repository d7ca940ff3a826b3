// @ts-check
// What a reader of the block chooser can turn, click and answer.
import { fill, html } from "./dom.js";
import { counted, plain } from "./numbers.js";

const RATIOS = [0.5, 1, 2, 4];

/**
 * "What happens to the FLOPs per byte?": four buttons.
 * @param {Record<string, string>} words
 * @param {(ratio: number | null) => void} answer
 */
export function ratioButtons(words, answer) {
  const name = (/** @type {number} */ ratio) => (ratio === 1 ? words.same : `× ${plain(ratio)}`);
  const buttons = RATIOS.map((ratio) => {
    const button = html("button", { type: "button", class: "fa-plain fa-choice-guess" }, name(ratio));
    button.addEventListener("click", () => answer(ratio));
    return button;
  });
  const show = html("button", { type: "button", class: "fa-plain" }, words.show);
  show.addEventListener("click", () => answer(null));
  const row = html("div", { class: "fa-choice-buttons" }, ...buttons, show);
  const verdict = html("div", { class: "fa-choice-verdict", "aria-live": "polite" });
  return {
    root: html("div", { class: "fa-choice-ask" }, row, verdict),
    /**
     * @param {boolean} open
     * @param {any} guess
     * @param {number} truth
     */
    show(open, guess, truth) {
      row.hidden = !open;
      const nearest = RATIOS.reduce((best, ratio) => (Math.abs(Math.log(ratio / truth)) < Math.abs(Math.log(best / truth)) ? ratio : best));
      const right = guess && guess.ratio === nearest;
      verdict.textContent = open || !guess ? "" : guess.ratio === null ? words.shown
        : fill(right ? words.right : words.wrong, { guess: name(guess.ratio), why: `× ${plain(truth)}` });
    },
  };
}

/**
 * GPU, N, d, mask; what stands in the grid; the button that loads a tile.
 * @param {import("./shell.js").Shell} shell
 * @param {any} head
 * @param {Record<string, string>} words
 */
export function chooserControls(shell, head, words) {
  const choose = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ choices, /** @type {(x: string) => any} */ read = String) => {
    const select = /** @type {HTMLSelectElement} */ (html("select", { class: `fa-select fa-${name}`, "aria-label": label }, ...choices.map(([value, text]) => html("option", { value }, text))));
    select.addEventListener("change", () => shell.set(name, read(select.value)));
    return { name, select, root: html("label", {}, label, select) };
  };
  const picks = [
    choose("gpu", words.gpu, head.gpus.map((/** @type {any} */ g) => [g.key, g.name])),
    choose("d", "D", head.dims.map((/** @type {number} */ d) => [String(d), String(d)]), Number),
    choose("metric", words.metric, ["programs", "shared", "registers", "bytes"].map((name) => [name, words[name]])),
  ];
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "range", min: "0", max: String(head.lengths.length - 1), step: "1", class: "fa-slide fa-slide-n", "aria-label": "N" }));
  const value = html("output", {});
  input.addEventListener("input", () => shell.set("n", head.lengths[Number(input.value)]));
  const box = /** @type {HTMLInputElement} */ (html("input", { type: "checkbox", class: "fa-tick-causal" }));
  box.addEventListener("change", () => shell.set("causal", box.checked));
  const button = /** @type {HTMLButtonElement} */ (html("button", { type: "button", class: "fa-plain fa-choice-load" }, words.play_tile));
  const note = html("span", { class: "fa-soft" });
  const code = html("code", { class: "fa-choice-code" });
  const made = html("span", { class: "fa-soft" });
  let wanted = "";
  button.addEventListener("click", () => shell.set("load", wanted));
  shell.after.append(html("div", { class: "fa-options" }, html("span", { class: "fa-soft" }, fill(words.model, { s: head.standardTile })), made));
  return {
    root: html("div", { class: "fa-choice-settings" }, picks[0].root, html("label", { class: "fa-sizes" }, html("span", {}, "N"), input, value),
      picks[1].root, html("label", {}, box, words.causal)),
    metric: picks[2].root,
    play: html("div", { class: "fa-choice-play" }, button, note, code),
    /** @param {{ tile: number[], gpu: any, p: { d: number, lenK: number, causal: boolean } }} now */
    refresh(now) {
      for (const { name, select } of picks) select.value = String(shell.setting(name));
      const at = head.lengths.indexOf(shell.setting("n"));
      if (Number(input.value) !== at) input.value = String(at);
      value.textContent = counted(shell.setting("n"));
      input.setAttribute("aria-valuetext", value.textContent);
      box.checked = Boolean(shell.setting("causal"));
      const [m, n] = now.tile;
      wanted = `${m}x${n}`;
      const length = Math.min(now.p.lenK, 4 * Math.max(m, n));
      const loaded = shell.setting("loaded") === wanted;
      const playing = shell.setting("player") && !shell.alone(); // a button needs a player on the page
      button.hidden = !playing;
      note.textContent = loaded ? fill(words.loaded, { m, k: n }) : playing ? words.load_note : words.load_alone;
      code.textContent = loaded ? "" : `fa.viz.tile_player(fa.AttentionProblem(len_q=${length}, len_k=${length}, head_dim=${now.p.d}, causal=${now.p.causal ? "True" : "False"}), tile=fa.TileShape(${m}, ${n}))`;
      made.textContent = fill(words.made, { c: now.gpu.capability, v: head.made.version, date: head.made.date, mask: now.p.causal ? words.causal : words.full });
    },
  };
}
