// @ts-check
// The kernel view: the source with its running lines, and beside it one or two runs of it on their tensors.
import { fill, html } from "./dom.js";
import { kernelReel } from "./kernel_frames.js";
import { plates } from "./kernel_plates.js";
import { bars } from "./ledger.js";
import { counted, weight } from "./numbers.js";
import { mount } from "./shell.js";
import { factorRow } from "./tile_questions.js";

/** @typedef {import("./kernel_frames.js").KernelReel} KernelReel */

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const head = shell.head();
  const words = shell.words();
  const cut = shell.setting("cut");
  const code = new Map(/** @type {[number, string][]} */ (head.source));
  const reels = head.reels.map((/** @type {any} */ table, /** @type {number} */ i) => kernelReel(table, shell.data(), "ab"[i], cut));
  const last = Math.max(...reels.map((/** @type {KernelReel} */ reel) => reel.last));
  const leader = (/** @type {number} */ step) => reels.find((/** @type {KernelReel} */ reel) => step <= reel.last) ?? reels[0];
  const key = () => `lanes ${cut} ${shell.step()}`;
  const asked = (/** @type {number} */ step) => shell.predicts() && leader(step) === reels[0] && reels[0].question(step) >= 0 && !shell.guess(`lanes ${cut} ${step}`);

  const pane = sourcePane(head.source, reels.length);
  const most = Math.max(1, ...reels.flatMap((/** @type {KernelReel} */ reel) => [reel.table.read, reel.table.written]));
  const runs = reels.map((/** @type {KernelReel} */ reel) => runPanel(reel, words, reels.length > 1 ? 236 : 500, most));
  const hint = words.count_again;
  const ask = factorRow(shell, { ...words, difference: hint, inverse: hint, unchanged: hint, other: hint },
    () => reels[0].off[reels[0].question(shell.step())], key);
  ask.root.classList.add("fa-lane-ask");
  const right = html("div", { class: "fa-runs" }, ...runs.map((/** @type {any} */ run) => run.root));
  shell.body.append(html("div", { class: "fa-lane-row" }, ask.root, cuts(shell, reels, words)),
    html("div", { class: reels.length > 1 ? "fa-kernel-stage fa-two" : "fa-kernel-stage" }, pane.root, right),
    html("div", { class: "fa-kernel-legend" }, words.legend));
  const marks = Array.from({ length: reels[0].last }, (_, i) => i + 1)
    .filter((step) => cut !== "programs" && reels[0].program[reels[0].span(step).start] !== reels[0].program[Math.max(0, reels[0].span(step).start - 1)]);

  return {
    last: () => last,
    caption: (step) => leader(step).sentence(step, words, code, asked(step)),
    marks: () => marks,
    note(step) {
      const reel = leader(step);
      const here = reel.span(step);
      if (step === 0) return ` · ${words.start}`;
      return ` · ${fill(words.program, { n: reel.program[here.start], total: reel.table.programs })} · ${reel.table.labels[reel.label[here.stop - 1]] || words.setup}`;
    },
    asked,
    reveal: (step) => shell.answer(`lanes ${cut} ${step}`, { text: "", value: null, verdict: "shown", step }),
    typing(typed) {
      if (asked(shell.step()) && /^[0-9(]$/.test(typed)) ask.input.focus();
    },
    settings() {
      if (shell.setting("cut") !== cut) shell.rebuild();
    },
    draw(step) {
      const open = asked(step);
      pane.draw(reels.map((/** @type {KernelReel} */ reel) => (step > 0 && step <= reel.last ? reel : null)), step);
      runs.forEach((/** @type {any} */ run, /** @type {number} */ i) => run.draw(step, open && i === 0));
      ask.show(open);
    },
    close: () => pane.close(),
  };
}

/**
 * The source, line by line; the lines of a step are lit, those that touch memory strongest.
 * @param {[number, string][]} source
 * @param {number} sides
 */
function sourcePane(source, sides) {
  /** @type {Map<number, { root: HTMLElement, marks: HTMLElement[] }>} */
  const rows = new Map();
  const lines = source.map(([number, text]) => {
    const marks = Array.from({ length: sides }, () => html("i", { class: "fa-run-mark" }));
    const comment = text.search(/(?<=^|\s)#/);
    const [plain, note] = comment < 0 ? [text, ""] : [text.slice(0, comment), text.slice(comment)];
    const label = /# step:/.test(note) ? "fa-listing-step" : "fa-listing-note";
    const half = (text.length - text.trimStart().length) >> 1; // the listing is narrow: half the indent
    const root = html("div", { class: "fa-listing-line" }, ...marks, html("span", { class: "fa-listing-number" }, number ? String(number) : ""),
      html("code", { style: `--fa-in: ${half}` }, plain.slice(half), ...(note ? [html("span", { class: label }, note)] : [])));
    if (number) rows.set(number, { root, marks });
    return root;
  });
  const root = html("div", { class: "fa-listing", tabindex: "-1" }, ...lines);
  /** @type {Set<number>} */
  let shown = new Set();
  /** @type {HTMLElement[]} */
  let middle = []; // the lines that should be seen
  const follow = () => {
    if (!middle.length) return void (root.scrollTop = 0);
    const places = middle.map((line) => line.offsetTop);
    const [top, bottom] = [Math.min(...places), Math.max(...places)];
    const half = root.clientHeight / 2;
    root.scrollTop = Math.max(0, Math.min((top + bottom) / 2, top + half - 30) - half); // the page itself never moves
  };
  const watch = new ResizeObserver(follow); // a pane that is not on the page yet has no height to scroll in
  watch.observe(root);
  return {
    root,
    close: () => watch.disconnect(),
    /**
     * @param {(KernelReel | null)[]} reels
     * @param {number} step
     */
    draw(reels, step) {
      for (const number of shown) {
        const row = rows.get(number);
        row?.root.classList.remove("fa-ran", "fa-touches");
        row?.marks.forEach((mark) => mark.classList.remove("fa-here"));
      }
      shown = new Set();
      middle = [];
      reels.forEach((reel, side) => {
        if (!reel) return;
        const here = reel.span(step);
        const touching = new Set();
        for (let i = here.first; i < here.end; i++) touching.add(reel.line[reel.visit(i)]);
        for (let i = here.start; i < here.stop; i++) {
          const row = rows.get(reel.line[i]);
          if (!row) continue;
          shown.add(reel.line[i]);
          row.root.classList.add("fa-ran");
          row.root.classList.toggle("fa-touches", touching.has(reel.line[i]) || row.root.classList.contains("fa-touches"));
          row.marks[side].classList.add("fa-here");
          if (side > 0 && reels[0]) continue;
          if (!touching.size || touching.has(reel.line[i])) middle.push(row.root);
        }
      });
      follow();
    },
  };
}

/**
 * One run: its tensors and its bill.
 * @param {KernelReel} reel
 * @param {Record<string, string>} words
 * @param {number} width
 * @param {number} most  bytes of a full bar, the same for runs side by side
 */
function runPanel(reel, words, width, most) {
  const drawn = plates(reel, width);
  const ledger = bars(words.moved, [words.read, words.written]);
  const lanes = bars(words.off, [words.off_short]);
  const where = html("div", { class: "fa-run-name" });
  const root = html("div", { class: "fa-run" }, where, drawn.root, ledger.root, lanes.root);
  return {
    root,
    /** @param {number} step @param {boolean} hide */
    draw(step, hide) {
      const here = reel.span(step);
      const known = hide ? here.first : here.end;
      drawn.draw(step, hide);
      const place = step === 0 ? words.start : step > reel.last ? words.ended
        : fill(words.program, { n: reel.program[here.start], total: reel.table.programs });
      where.replaceChildren(...(reel.table.name ? [html("b", {}, reel.table.name)] : []), html("span", { class: "fa-soft" }, place));
      const [read, written] = [reel.sums.read[here.end], reel.sums.written[here.end]];
      ledger.draw([
        { part: read / most, whole: reel.table.read / most, text: weight(read) },
        { part: written / most, whole: reel.table.written / most, text: weight(written) },
      ]);
      const [off, all] = [reel.sums.off[known], reel.sums.lanes[known]];
      lanes.draw([{ part: all ? off / all : 0, text: fill(words.lanes, { off: counted(off), all: counted(all) }) }]);
    },
  };
}

/**
 * What a step is.
 * @param {import("./shell.js").Shell} shell
 * @param {KernelReel[]} reels
 * @param {Record<string, string>} words
 */
function cuts(shell, reels, words) {
  const select = /** @type {HTMLSelectElement} */ (html("select", { class: "fa-select fa-step-kind" },
    ...shell.head().cuts.map((/** @type {string} */ name) => html("option", { value: name }, words[name]))));
  select.value = shell.setting("cut");
  select.addEventListener("change", () => {
    const ran = reels[0].span(shell.step()).stop;
    shell.set("cut", select.value); // the picture is built anew
    const stops = shell.data()[`a_${select.value}`];
    shell.go(stops.findIndex((/** @type {number} */ stop) => stop >= ran));
    /** @type {HTMLElement | null} */ (shell.body.querySelector(".fa-step-kind"))?.focus({ preventScroll: true });
  });
  return html("label", { class: "fa-step-kind-label" }, words.cut, select);
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
