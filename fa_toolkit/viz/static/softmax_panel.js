// @ts-check
// Beside and below the stepper's picture: what is kept, the wrong rules, the parts, and the three ways compared.
import { fill, html } from "./dom.js";
import { bars } from "./ledger.js";
import { figure, small, vector } from "./softmax_words.js";

/** @typedef {import("./softmax_run.js").Frame} Frame */
/** @typedef {import("./softmax_run.js").Run} Run */

const MOST_PARTS = 5;

/**
 * The panel beside the picture: what is kept, and below it what the way on show is about.
 * @param {Run} run
 * @param {string} view
 * @param {Record<string, string>} words
 * @param {number} height
 */
export function sidePanel(run, view, words, height) {
  const big = ["m", "l", "acc"].map((name) => ({
    name: html("span", { class: name === "acc" ? "fa-kept-name fa-ink-o" : "fa-kept-name fa-ink-stat" }, name),
    value: html("span", { class: "fa-big" }),
  }));
  const title = view === "three" ? words.kept_three : view === "merged" ? words.kept_merged : words.kept;
  const below = view === "three" ? passBars(run, words) : view === "merged" ? partRows(run, words) : ruleRows(run, words);
  const root = html("div", { class: "fa-side", style: `height: ${height}px` }, html("h4", {}, title),
    html("div", { class: "fa-kept" }, ...big.flatMap((part) => [part.name, part.value])), below.root);
  return {
    root,
    /** @param {Frame} frame */
    draw(frame) {
      const alone = view === "merged" && (frame.kind === "start" || frame.kind.startsWith("own_"));
      const meets = frame.kind === "meet";
      const shown = [meets ? frame.m_old : frame.m, meets ? frame.l_old : frame.l].map(figure);
      const acc = meets ? frame.acc_old : frame.acc;
      [...shown, acc ? vector(acc) : ""].forEach((text, i) => {
        const empty = alone || !text;
        big[i].value.textContent = empty ? words.nothing : text;
        big[i].value.classList.toggle("fa-soft", empty);
      });
      big[2].name.textContent = view === "three" ? "o" : "acc";
      below.draw(frame);
    },
  };
}

/**
 * Online: the sum by the right rule and by two wrong ones.
 * @param {Run} run
 * @param {Record<string, string>} words
 */
function ruleRows(run, words) {
  const frames = run.views.online;
  const high = Math.max(...frames.map((frame) => frame.l ?? 0));
  const sums = frames.map((frame) => frame.subtract ?? 0);
  const [low, top] = [Math.max(Math.min(0, ...sums), -high), Math.min(Math.max(high, ...sums), 1.25 * high)];
  const place = (/** @type {number} */ v) => (100 * (Math.min(top, Math.max(low, v)) - low)) / (top - low || 1);
  const rows = ["multiply", "subtract", "no_max"].map((name) => {
    const [bar, zero] = [html("i", { class: name === "multiply" ? "fa-right" : "fa-other" }), html("u")];
    zero.style.left = `${place(0)}%`;
    const [value, note] = [html("span"), html("span", { class: "fa-rule-note" })];
    const track = name === "no_max" ? html("span", { class: "fa-track" }) : html("span", { class: "fa-track" }, bar, zero);
    const root = html("div", { class: "fa-rule" }, html("span", { class: "fa-rule-head" }, html("span", {}, words[name]), value), track, note);
    return { name, bar, zero, value, note, root };
  });
  return {
    root: html("div", {}, html("h4", {}, words.rules), ...rows.map((row) => row.root)),
    /** @param {Frame} frame */
    draw(frame) {
      const found = /** @type {Record<string, number | null>} */ ({ multiply: frame.l, subtract: frame.subtract, no_max: frame.no_max });
      const close = Math.abs((frame.subtract ?? 0) - (frame.l ?? 0)) <= 1e-9 * Math.abs(frame.l ?? 0);
      const signs = /** @type {Record<string, string>} */ ({ multiply: "✓", subtract: close ? "✓" : "✗", no_max: Number.isFinite(frame.no_max) && frame.no_max ? "✓" : "✗" });
      for (const { name, bar, zero, value, note } of rows) {
        const sum = found[name];
        bar.hidden = zero.hidden = sum === null;
        value.textContent = sum === null ? "" : `${small(sum)} ${signs[name]}`;
        bar.style.left = `${place(Math.min(0, sum ?? 0))}%`;
        bar.style.width = `${sum === null ? 0 : place(Math.max(0, sum)) - place(Math.min(0, sum))}%`;
        note.textContent = frame.kind === "done" ? `p₁ = ${small(run.first[name])}` : "";
      }
    },
  };
}

/**
 * Three passes: how far each has read.
 * @param {Run} run
 * @param {Record<string, string>} words
 */
function passBars(run, words) {
  const ledger = bars(words.passes, [words.pass_1, words.pass_2, words.pass_3]);
  const n = run.x.length;
  return {
    root: ledger.root,
    /** @param {Frame} frame */
    draw(frame) {
      ledger.draw([0, 1, 2].map((pass) => {
        const read = Math.min(n, Math.max(0, frame.reads - pass * n));
        return { part: read / n, text: `${read} / ${n}` };
      }));
    },
  };
}

/**
 * Merged: every part with its own m, l and acc.
 * @param {Run} run
 * @param {Record<string, string>} words
 */
function partRows(run, words) {
  const shown = Math.min(run.blocks.length, MOST_PARTS);
  const rows = Array.from({ length: shown }, (_, i) => {
    const cells = ["m", "l", "acc"].map((name) => html("span", { class: name === "acc" ? "fa-ink-o" : "fa-ink-stat" }));
    return { cells, root: html("div", { class: "fa-part-row" }, html("span", {}, fill(words.block, { n: i + 1 })), ...cells) };
  });
  const head = html("div", { class: "fa-part-row fa-soft" }, html("span"), html("span", {}, "m"), html("span", {}, "l"), html("span", {}, "acc"));
  const more = run.blocks.length > shown ? [html("div", { class: "fa-soft" }, fill(words.more_parts, { n: run.blocks.length - shown }))] : [];
  return {
    root: html("div", {}, html("h4", {}, words.parts), head, ...rows.map((row) => row.root), ...more),
    /** @param {Frame} frame */
    draw(frame) {
      rows.forEach(({ cells, root }, i) => {
        const part = frame.parts[i];
        const texts = part ? [figure(part[0]), figure(part[1]), vector(part[2])] : ["", "", ""];
        cells.forEach((cell, c) => (cell.textContent = texts[c]));
        root.classList.toggle("fa-now", i === frame.block);
      });
    },
  };
}

/**
 * The table that puts the three ways side by side; its results stand there once a run is done.
 * @param {Run} run
 * @param {string[]} views
 * @param {string} view
 * @param {Record<string, string>} words
 */
export function waysTable(run, views, view, words) {
  const head = html("tr", {}, html("th", { scope: "col" }, words.ways), html("th", { scope: "col" }, words.reads),
    ...["m", "l", "o"].map((name) => html("th", { scope: "col", class: name === "o" ? "fa-ink-o" : "fa-ink-stat" }, name)), html("th", { scope: "col" }, ""));
  const rows = views.map((name) => {
    const last = run.views[name][run.views[name].length - 1];
    const cells = Array.from({ length: 4 }, () => html("td"));
    const passes = last.reads / run.x.length;
    const times = html("td", {}, passes === 1 ? words.once : fill(words.times, { n: passes }));
    const same = run.gaps[name] < 1e-12 && (last.out ?? []).every((o, d) => Math.abs(o - run.out[d]) <= 1e-9 * Math.max(1, Math.abs(run.out[d])));
    const texts = [figure(last.m), figure(last.l), vector(last.out), same ? "✓" : "✗"];
    return { cells, texts, root: html("tr", name === view ? { class: "fa-now" } : {}, html("th", { scope: "row" }, words[name]), times, ...cells) };
  });
  const root = html("table", { class: "fa-ways" }, html("thead", {}, head), html("tbody", {}, ...rows.map((row) => row.root)));
  return {
    root,
    /** @param {Frame} frame */
    draw(frame) {
      const done = frame.kind === "done";
      root.title = done ? "" : words.at_end;
      for (const { cells, texts } of rows) cells.forEach((cell, i) => (cell.textContent = done ? texts[i] : i < 3 ? "·" : ""));
    },
  };
}
