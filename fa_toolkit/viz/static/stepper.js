// @ts-check
// The softmax stepper: three ways to play a row, the formula, the question, and the line where the reader types.
import { html, svg } from "./dom.js";
import { formula } from "./ledger.js";
import { mount } from "./shell.js";
import { sidePanel, waysTable } from "./softmax_panel.js";
import { pictureHeight, softmaxPicture } from "./softmax_picture.js";
import { softmaxRun } from "./softmax_run.js";
import { readTyped, written } from "./softmax_typed.js";
import { askedFactor, formulaRows, sentence } from "./softmax_words.js";
import { factorRow } from "./tile_questions.js";

const ASKS = ["correct", "weigh"];
/** What a reader has typed and not yet used, kept when the picture is built anew. @type {WeakMap<HTMLElement, string[]>} */
const drafts = new WeakMap();

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const words = shell.words();
  const row = shell.setting("row");
  const view = shell.setting("view");
  const made = JSON.stringify([row, view]);
  const run = softmaxRun(row.x, row.blocks, row.v);
  const frames = run.views[view];
  const height = pictureHeight(run.v[0].length);
  const at = () => Math.min(shell.step(), frames.length - 1);
  const key = (step = at()) => `${view}: ${row.x.join(", ")} / ${row.blocks.join(", ")} @ ${step}`;
  const asked = (/** @type {number} */ step) => shell.predicts() && ASKS.includes(frames[step]?.kind) && !shell.guess(key(step));

  const picture = svg("svg", { role: "img", class: "fa-picture" });
  const drawing = html("div", { class: "fa-drawing", style: `height: ${height}px` });
  drawing.append(picture);
  const side = sidePanel(run, view, words, height);
  const lines = formula(5);
  const ask = factorRow(shell, words, () => askedFactor(frames[at()]), () => key());
  lines.rows[1].text.after(ask.root);
  const ways = waysTable(run, shell.head().views, view, words);
  shell.body.append(tabs(shell, view, words), html("div", { class: "fa-stage" }, drawing, side.root), lines.root, ways.root);
  const own = ownRow(shell);
  shell.after.append(own.root);

  /** @type {ReturnType<typeof softmaxPicture> | null} */
  let paint = null;
  let drawnWidth = 0;
  const fit = () => {
    const width = Math.max(280, drawing.clientWidth || 560);
    if (width !== drawnWidth) paint = softmaxPicture(picture, run, view, words, (drawnWidth = width));
  };
  const watch = new ResizeObserver(() => {
    if (drawing.clientWidth && drawing.clientWidth !== drawnWidth) shell.repaint();
  });
  watch.observe(drawing);
  const marks = frames.flatMap((frame, i) => (frame.block > (frames[i - 1]?.block ?? -1) || ASKS.includes(frame.kind) ? [i] : []));

  return {
    last: () => frames.length - 1,
    caption: (step) => sentence(run, view, frames[step], asked(step), words),
    marks: () => marks,
    asked,
    reveal: (step) => shell.answer(key(step), { text: "", value: null, verdict: "shown", step }),
    typing(typed) {
      if (asked(shell.step()) && /^[0-9.(e-]$/.test(typed)) ask.input.focus();
    },
    settings() {
      if (JSON.stringify([shell.setting("row"), shell.setting("view")]) !== made) shell.rebuild();
    },
    draw(step) {
      fit();
      const frame = frames[step];
      const before = frames[Math.max(0, step - 1)];
      const open = asked(step);
      paint?.(frame, before, open, sentence(run, view, frame, open, words));
      side.draw(open ? before : frame);
      lines.draw(formulaRows(run, view, frame, open, words));
      if (open) lines.rows[1].text.textContent = "";
      ask.show(open);
      if (!open) ask.input.value = "";
      ways.draw(frame);
    },
    close() {
      watch.disconnect();
      own.keep();
    },
  };
}

/**
 * The three ways as tabs: a radio group, moved by arrows like any other.
 * @param {import("./shell.js").Shell} shell
 * @param {string} view
 * @param {Record<string, string>} words
 */
function tabs(shell, view, words) {
  const choose = (/** @type {string} */ name, stay = false) => {
    if (name !== view) shell.go(0), shell.set("view", name);
    if (stay) /** @type {HTMLElement | null} */ (shell.body.querySelector('[aria-checked="true"]'))?.focus({ preventScroll: true });
    else shell.root.focus({ preventScroll: true }); // space plays, arrows step
  };
  const views = /** @type {string[]} */ (shell.head().views);
  const made = views.map((name) => {
    const on = name === view;
    const button = html("button", { type: "button", role: "radio", "aria-checked": String(on), tabindex: on ? "0" : "-1", class: "fa-tab" }, words[name]);
    button.addEventListener("click", () => choose(name));
    button.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: views.length - 1 }[event.key];
      if (by === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      choose(views[(views.indexOf(name) + by) % views.length], true);
    });
    return button;
  });
  return html("div", { class: "fa-tabs", role: "radiogroup", "aria-label": words.view }, ...made);
}

/**
 * The line where the reader types another row, its blocks and V.
 * @param {import("./shell.js").Shell} shell
 */
function ownRow(shell) {
  const words = shell.words();
  const row = shell.setting("row");
  const saved = drafts.get(shell.root) ?? [row.x.join(", "), row.blocks.join(", "), written(row.v)];
  const fields = ["14", "7", "24"].map((size, i) => {
    const field = /** @type {HTMLInputElement} */ (html("input", { type: "text", size, spellcheck: "false", autocomplete: "off" }));
    field.value = saved[i];
    return field;
  });
  const [x, blocks, v] = fields;
  const error = html("div", { class: "fa-error fa-typed-error", role: "alert" });
  const use = html("button", { type: "button", class: "fa-plain" }, words.use);
  const take = (/** @type {{ x: string, blocks: string, v: string }} */ typed) => {
    const read = readTyped(typed, shell.head().most, words);
    error.textContent = typeof read === "string" ? read : "";
    if (typeof read === "string") return;
    fields.forEach((field, i) => (field.value = [read.x.join(", "), read.blocks.join(", "), written(read.v)][i]));
    drafts.delete(shell.root);
    shell.go(0);
    shell.set("row", read);
    shell.root.focus({ preventScroll: true });
  };
  const submit = () => {
    const typed = { x: x.value, blocks: blocks.value, v: v.value };
    const untouched = v.value === written(shell.setting("row").v); // V of a row of another length is not this one's
    take(untouched && typeof readTyped(typed, shell.head().most, words) === "string" ? { ...typed, v: "" } : typed);
  };
  use.addEventListener("click", submit);
  for (const field of fields) field.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  const presets = shell.head().presets.map((/** @type {any} */ preset) => {
    const button = html("button", { type: "button", class: "fa-preset" }, preset.label[shell.lang()]);
    button.addEventListener("click", () => take({ x: preset.x, blocks: preset.blocks, v: "" }));
    return button;
  });
  const root = html("div", { class: "fa-own" }, html("div", { class: "fa-fields" },
    html("label", {}, words.row, x), html("label", {}, words.blocks, blocks), html("label", {}, words.values, v), use,
    html("span", { class: "fa-presets" }, html("span", { class: "fa-soft" }, words.presets), ...presets)), error);
  return {
    root,
    keep() {
      const now = fields.map((field) => field.value);
      const used = shell.setting("row");
      if (now.join("|") === [used.x.join(", "), used.blocks.join(", "), written(used.v)].join("|")) drafts.delete(shell.root);
      else drafts.set(shell.root, now);
    },
  };
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
