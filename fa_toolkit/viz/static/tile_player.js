// @ts-check
// The flash tile player: the score plane, the chip, the formula, the ledger, and two questions.
import { chip } from "./chip.js";
import { fill, html, svg } from "./dom.js";
import { film } from "./film.js";
import { pooling } from "./heat.js";
import { bars, formula } from "./ledger.js";
import { amount, counted, filled, weight } from "./numbers.js";
import { EVERY, plane } from "./plane.js";
import { mount } from "./shell.js";
import { backwardLines, followed, forwardLines } from "./tile_formula.js";
import { factorRow, tileQuestion } from "./tile_questions.js";

/** @typedef {import("./plane.js").Strip} Strip */

const OUTPUTS = ["O", "dQ", "dK", "dV"];

/**
 * @param {any} head
 * @param {number} rows
 * @param {number} cols
 * @returns {Strip[]}
 */
function stripsOf(head, rows, cols) {
  const strip = (/** @type {string} */ tensor, /** @type {Strip["side"]} */ side) =>
    ({ tensor, side, tiles: side === "left" || side === "right" ? rows : cols });
  if (head.splits > 1) {
    return [strip("Q", "left"), strip("K", "top"), strip("V", "bottom"), { tensor: "parts", side: "bottom", tiles: head.splits }, strip("O", "right")];
  }
  if (head.algorithm !== "flash_backward") {
    return [strip("Q", "left"), strip("K", "top"), strip("V", "bottom"), strip("O", "right")];
  }
  return [strip("Q", "left"), strip("dO", "left"), strip("K", "top"), strip("V", "top"),
    strip("dK", "bottom"), strip("dV", "bottom"), strip("dQ", "right")];
}

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const head = shell.head();
  const data = shell.data();
  const words = shell.words();
  const cut = shell.setting("detail") === "operations" ? "operations" : "tiles";
  const frames = { stop: data[`${cut}_stop`], say: data[`${cut}_say`], numbers: data[`${cut}_numbers`], asks: data[`${cut}_asks`] };
  const roll = film(head, data, frames.stop);
  const starts = roll.starts();
  const forward = head.algorithm !== "flash_backward";
  const skipped = data.kinds.reduce((/** @type {number} */ n, /** @type {number} */ kind) => n + (kind === 2 ? 1 : 0), 0);

  const box = svg("svg", { role: "img", class: "fa-scores-plane" });
  const picture = plane(box, { rows: roll.rows, cols: roll.cols, kinds: data.kinds, strips: stripsOf(head, roll.rows, roll.cols), names: words });
  const height = picture.at.height;
  box.setAttribute("viewBox", `0 0 396 ${height}`);
  const narrow = picture.at.right < 220; // the line would begin left of the picture
  box.append(svg("text", { x: narrow ? picture.at.x : picture.at.right, y: height - 2, "text-anchor": narrow ? "start" : "end" },
    fill(words.never, { n: counted(head.lenQ), k: counted(head.lenK) })));
  const marks = [`✓ ${words.done}`, `╲ ${words.masked}`, `╱ ${words.skipped}`].filter((_, kind) => kind === 0 || data.kinds.includes(kind));
  const legend = html("div", { class: "fa-legend-line" },
    ...(picture.marked ? marks : words.legend_small.split("   ")).map((text) => html("span", {}, text)));
  const verdict = html("div", { class: "fa-verdict-line", "aria-live": "polite" });

  /** @type {[number, number] | null} */
  let pinned = null;
  const tiles = chip(head, words, (name, r, c) => {
    const found = followed(roll, shell.step(), pinned);
    pinned = [r, name === "m" || name === "l" || name === "alpha" || name === "lse" || name === "delta" ? found?.[1] ?? 0 : c];
    shell.repaint();
  });
  const occupancy = bars(words.chip, [words.shared, words.registers]);
  const where = html("div", { class: "fa-where" });
  const lines = formula(6);
  const ask = factorRow(shell, words, () => frames.asks[shell.step()]);
  lines.rows[2].text.after(ask.root);
  const note = html("div", { class: "fa-note" }, remark(head, words));
  const panel = html("div", { class: "fa-panel" }, occupancy.root, tiles.box, tiles.reading, where, lines.root, note);
  const moved = bars(words.moved, [words.flash, words.standard], words.pale);
  const kept = bars(words.kept, [words.flash, words.standard]);
  const left = html("div", { class: "fa-left" }, box, legend, verdict, moved.root);
  shell.body.append(html("div", { class: "fa-tile-stage" }, left, html("div", { class: "fa-right-side" }, panel, kept.root)));
  shell.after.append(options(shell, head, words));

  const question = tileQuestion(shell, box, picture, roll, head, data.kinds, skipped);
  const asksTiles = (/** @type {number} */ step) => step === 0 && forward && skipped > 0 && picture.marked && !shell.guess("tiles");
  const asksFactor = (/** @type {number} */ step) => Number.isFinite(frames.asks[step]) && !shell.guess("factor");
  const asked = (/** @type {number} */ step) => shell.predicts() && (asksTiles(step) || asksFactor(step));
  const caption = (/** @type {number} */ step) => {
    if (shell.predicts() && asksTiles(step)) return words.guess_tiles;
    if (shell.predicts() && asksFactor(step)) {
      const place = followed(roll, step, null) ?? [0, 0];
      const row = frames.numbers[5 * step];
      return filled(words.guess_factor, [row, roll.before(step, "m")?.data[place[0]] ?? NaN, roll.value(step, "m")?.data[place[0]] ?? NaN]);
    }
    return filled(words[`say_${head.says[frames.say[step]]}`], frames.numbers.subarray(5 * step, 5 * step + 5));
  };
  drawOccupancy(occupancy, shell, head, words);
  const most = Math.max(head.standard.bytes, head.flash.bytes) || 1;
  const keeps = Math.max(head.standard.extra, head.flash.extra) || 1;
  kept.draw([
    { part: head.flash.extra / keeps, text: weight(head.flash.extra) },
    { part: head.standard.extra / keeps, text: weight(head.standard.extra) },
  ]);

  return {
    last: () => roll.frames - 1,
    caption,
    marks: () => starts,
    note: (step) => (step > 0 ? ` · ${programName(head, roll, step, words)} · ${head.steps[roll.step[step]]}` : ""),
    asked,
    reveal(step) {
      if (asksTiles(step)) question.settle(true);
      else shell.answer("factor", { text: "", value: null, verdict: "shown" });
    },
    typing(key) {
      if (shell.predicts() && asksFactor(shell.step()) && /^[0-9.(e-]$/.test(key)) ask.input.focus();
    },
    draw(step) {
      const open = asked(step);
      const guessing = open && asksTiles(step);
      const factor = open && asksFactor(step);
      const done = roll.done(step);
      const now = roll.tile[step];
      picture.draw({
        now,
        done: (i) => step > 0 && done[i] < step,
        hideMask: guessing,
        guess: (i) => guessing && question.marked(i),
        lit: (tensor) => {
          if (tensor === "parts") return head.phases[roll.phase[step]] === "merge" ? EVERY : roll.storing(step, "O_parts");
          const stored = OUTPUTS.includes(tensor) ? roll.storing(step, tensor) : -1;
          return stored >= 0 ? stored : roll.loaded(step, tensor);
        },
        stored: (tensor, i) => roll.stored(tensor === "parts" ? "O_parts" : tensor, i) <= step && [...OUTPUTS, "parts"].includes(tensor),
      });
      insideTile(picture, roll, step, now, head);
      box.setAttribute("aria-label", caption(step).replaceAll("*", ""));
      question.show(guessing);
      const place = open && factor ? followed(roll, step, null) : followed(roll, step, pinned);
      const hide = factor ? new Set(["alpha", "p", "l", "acc"]) : undefined;
      tiles.draw(roll, step, place, { hide });
      const rowStart = Math.floor(Math.max(0, now) / roll.cols) * head.blockM;
      where.textContent = !place || !head.hasValues || step === 0 ? ""
        : now >= 0 ? fill(words.pair, { r: counted(rowStart + place[0]), c: counted((now % roll.cols) * head.blockN + place[1]) })
        : fill(words.row, { r: counted(rowOf(roll, step, head) + place[0]) });
      lines.draw(place && head.hasValues && step > 0 ? (forward ? forwardLines(roll, step, place, factor) : backwardLines(roll, step, place)) : []);
      ask.show(factor);
      const total = roll.moved[2 * step] + roll.moved[2 * step + 1];
      moved.draw([
        { part: total / most, whole: head.flash.bytes / most, text: weight(total) },
        { part: 0, whole: head.standard.bytes / most, text: weight(head.standard.bytes) },
      ]);
      verdict.textContent = shell.guess("tiles") && step === 0 ? question.told() : "";
    },
  };
}

/**
 * @param {any} head
 * @param {import("./film.js").Film} roll
 * @param {number} step
 * @param {Record<string, string>} words
 */
function programName(head, roll, step, words) {
  const name = fill(words.program, { n: roll.program[step] });
  return head.phases.length > 1 ? `${head.phases[roll.phase[step]]} · ${name}` : name;
}

/**
 * First row of Q of the running program.
 * @param {import("./film.js").Film} roll
 * @param {number} step
 * @param {any} head
 */
function rowOf(roll, step, head) {
  if (head.phases[roll.phase[step]] === "merge") return roll.program[step]; // one row a program
  const tile = Math.max(roll.loaded(step, "Q"), roll.loaded(step, "O"), 0);
  return tile * head.blockM;
}

/**
 * The current tile's numbers inside its place on the plane.
 * @param {import("./plane.js").Plane} picture
 * @param {import("./film.js").Film} roll
 * @param {number} step
 * @param {number} now
 * @param {any} head
 */
function insideTile(picture, roll, step, now, head) {
  picture.inside.replaceChildren();
  const name = head.algorithm === "flash_backward" ? "p" : "s";
  const values = now < 0 ? null : roll.value(step, name);
  if (!values || Math.min(picture.at.w, picture.at.h) < 30 || values.rows > 16 || values.cols > 16) return;
  const [r, c] = [Math.floor(now / roll.cols), now % roll.cols];
  const cell = Math.min((picture.at.w - 18) / head.blockN, (picture.at.h - 18) / head.blockM);
  const x = picture.at.x + c * picture.at.w + (picture.at.w - values.cols * cell) / 2;
  const y = picture.at.y + r * picture.at.h + (picture.at.h - values.rows * cell) / 2;
  const [low, high] = roll.ranges[name];
  for (let i = 0; i < values.rows * values.cols; i++) {
    const share = (values.data[i] - low) / (high - low || 1);
    if (!Number.isFinite(values.data[i])) continue;
    picture.inside.append(svg("rect", {
      x: x + (i % values.cols) * cell, y: y + Math.floor(i / values.cols) * cell, width: cell - 1, height: cell - 1,
      rx: 1.5, class: "fa-fill-s", "fill-opacity": (0.08 + 0.92 * share).toFixed(2),
    }));
  }
}

/**
 * What the reader should know about the numbers.
 * @param {any} head
 * @param {Record<string, string>} words
 */
function remark(head, words) {
  if (!head.hasValues && head.wanted > head.most) return fill(words.toomany, { n: counted(head.wanted), most: counted(head.most) });
  if (!head.hasValues) return fill(words.novalues, { most: counted(head.most) });
  const [a, b] = [pooling(Math.max(head.blockM, 1)), pooling(Math.max(head.shapes.q[1], head.blockN))];
  return a > 1 || b > 1 ? fill(words.pooled, { a, b }) : "";
}

/**
 * @param {import("./ledger.js").Bars} occupancy
 * @param {import("./shell.js").Shell} shell
 * @param {any} head
 * @param {Record<string, string>} words
 */
function drawOccupancy(occupancy, shell, head, words) {
  const gpu = head.gpus.find((/** @type {any} */ g) => g.key === shell.setting("gpu")) ?? head.gpus[0];
  occupancy.draw([
    { part: head.footprint.shared / gpu.shared, text: fill(words.of, { a: amount(head.footprint.shared), b: amount(gpu.shared) }) },
    { part: head.footprint.registers / gpu.registers, text: fill(words.of, { a: amount(head.footprint.registers), b: amount(gpu.registers) }) },
  ]);
  const title = occupancy.root.querySelector("h4");
  const fit = gpu.programs > 16 ? words.many : gpu.programs ? fill(words.fits, { n: gpu.programs }) : words.nofit;
  if (title) title.textContent = fill(words.chip, { gpu: gpu.name, fit });
}

/**
 * Which steps, which GPU.
 * @param {import("./shell.js").Shell} shell
 * @param {any} head
 * @param {Record<string, string>} words
 */
function options(shell, head, words) {
  const choose = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ choices) => {
    const select = /** @type {HTMLSelectElement} */ (html("select", { class: `fa-select fa-${name}` },
      ...choices.map(([value, text]) => html("option", { value }, text))));
    select.value = shell.setting(name) ?? choices[0][0];
    select.addEventListener("change", () => {
      const stop = shell.data()[`${shell.setting("detail") ?? "tiles"}_stop`][shell.step()];
      shell.set(name, select.value); // the picture is built anew
      const stops = shell.data()[`${shell.setting("detail") ?? "tiles"}_stop`];
      shell.go(stops.findIndex((/** @type {number} */ at) => at >= stop));
      /** @type {HTMLElement | null} */ (shell.after.querySelector(`.fa-${name}`))?.focus({ preventScroll: true });
    });
    return html("label", {}, label, select);
  };
  return html("div", { class: "fa-options" },
    choose("detail", words.detail, [["tiles", words.tiles], ["operations", words.operations]]),
    choose("gpu", words.gpu, head.gpus.map((/** @type {any} */ g) => [g.key, g.name])),
    html("span", { class: "fa-soft" }, words.which));
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
