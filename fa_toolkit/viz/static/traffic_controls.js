// @ts-check
// What a reader of the traffic player can turn and type: sizes, mask, order, GPU, and a guess.
import { fill, html, mark } from "./dom.js";
import { readNumber } from "./guess.js";
import { counted, plain } from "./numbers.js";

/**
 * "How many times the bytes?"
 * @param {import("./shell.js").Shell} shell
 * @param {Record<string, string>} words
 */
export function ratioQuestion(shell, words) {
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "text", size: "6", placeholder: "?", "aria-label": words.ask_short }));
  const check = html("button", { type: "button", class: "fa-plain" }, words.guess);
  const show = html("button", { type: "button", class: "fa-plain" }, words.show);
  const said = html("span", { class: "fa-soft", "aria-live": "polite" });
  const root = html("div", { class: "fa-ratio" }, html("label", {}, words.ask_short, input), html("span", {}, "×"), check, show, said);
  const submit = () => {
    const value = readNumber(input.value);
    if (value === null) return void (said.textContent = words.unreadable);
    shell.answer("ratio", { text: input.value.trim(), value });
    shell.root.focus({ preventScroll: true });
  };
  check.addEventListener("click", submit);
  input.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  show.addEventListener("click", () => {
    shell.answer("ratio", { text: "", value: null });
    shell.root.focus({ preventScroll: true });
  });
  return {
    root,
    focus: () => input.focus(),
    /** @param {boolean} open */
    show: (open) => void root.classList.toggle("fa-shut", !open),
  };
}

/**
 * N, d, BLOCK_M, BLOCK_N, causal, one query, order, GPU, detail.
 * @param {import("./shell.js").Shell} shell
 * @param {any} head
 * @param {Record<string, string>} words
 */
export function sliders(shell, head, words) {
  const ranges = [["n", "N"], ["d", "D"], ["m", "BLOCK_M"], ["k", "BLOCK_N"]].map(([name, label]) => {
    const choices = head.choices[name];
    const input = /** @type {HTMLInputElement} */ (html("input", { type: "range", min: "0", max: String(choices.length - 1), step: "1", class: `fa-slide fa-slide-${name}`, "aria-label": label }));
    const value = html("output", {});
    input.addEventListener("input", () => shell.set(name, choices[Number(input.value)]));
    return { name, input, value, choices, root: html("label", { class: "fa-sizes" }, html("span", {}, label), input, value) };
  });
  const boxes = [["causal", words.causal], ["one", words.one]].map(([name, label]) => {
    const input = /** @type {HTMLInputElement} */ (html("input", { type: "checkbox", class: `fa-tick-${name}` }));
    input.addEventListener("change", () => shell.set(name, input.checked));
    return { name, input, root: html("label", {}, input, label) };
  });
  const choose = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ choices) => {
    const select = /** @type {HTMLSelectElement} */ (html("select", { class: `fa-select fa-${name}` }, ...choices.map(([value, text]) => html("option", { value }, text))));
    select.addEventListener("change", () => shell.set(name, select.value));
    return { name, select, root: html("label", {}, label, select) };
  };
  const picks = [
    choose("order", words.order, [["fa2", words.fa2], ["fa1", words.fa1]]),
    choose("gpu", words.gpu, head.gpus.map((/** @type {any} */ g) => [g.key, g.name])),
    choose("detail", words.detail, [["programs", words.programs], ["tiles", words.tiles]]),
  ];
  shell.after.append(html("div", { class: "fa-options" }, ...picks.map((pick) => pick.root)));
  const root = html("div", { class: "fa-settings" }, ...ranges.map((range) => range.root));
  return {
    root,
    boxes: html("span", { class: "fa-boxes-of" }, ...boxes.map((box) => box.root)),
    refresh() {
      for (const { name, input, value, choices } of ranges) {
        const at = choices.indexOf(shell.setting(name));
        if (Number(input.value) !== at) input.value = String(at);
        value.textContent = counted(shell.setting(name));
        input.setAttribute("aria-valuetext", value.textContent);
      }
      for (const { name, input } of boxes) input.checked = Boolean(shell.setting(name));
      for (const { name, select } of picks) select.value = shell.setting(name) ?? select.value;
    },
  };
}

/**
 * What a turn of a slider did.
 * @param {HTMLElement} told
 * @param {Record<string, string>} words
 * @param {any} old
 * @param {any} fresh
 */
export function compare(told, words, old, fresh) {
  const times = (/** @type {number} */ a, /** @type {number} */ b) => `×${plain(b / a)}`;
  const names = { lenQ: "Nq", lenK: "N", d: "D", blockM: "BLOCK_M", blockN: "BLOCK_N" };
  const changed = Object.entries(names).filter(([key]) => old.sizes[key] !== fresh.sizes[key])
    .filter(([key]) => key !== "lenQ" || fresh.sizes.lenQ !== fresh.sizes.lenK).map(([key, name]) => `${name} ${counted(old.sizes[key])} → ${counted(fresh.sizes[key])}`);
  if (old.sizes.causal !== fresh.sizes.causal) changed.push(fresh.sizes.causal ? words.causal_on : words.causal_off);
  mark(told, fill(words.changed, {
    what: changed.join(", "), a: times(old.totals[0], fresh.totals[0]), b: times(old.totals[1], fresh.totals[1]),
    c: times(old.extra[0], fresh.extra[0]), d: times(old.extra[1], fresh.extra[1]),
  }));
}
