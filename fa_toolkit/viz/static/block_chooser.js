// @ts-check
// The block chooser: a grid of tiles beside the roofline; one choice, its room on chip and its bytes.
import { attainable, flashBytes, flopsOf, kernelsOf, programsOf, standardBytes } from "./choice_sums.js";
import { chooserControls, ratioButtons } from "./choice_controls.js";
import { tileGrid } from "./choice_grid.js";
import { fill, html } from "./dom.js";
import { bars, formula } from "./ledger.js";
import { amount, counted, duration, plain, rate } from "./numbers.js";
import { roofPicture } from "./roofline_picture.js";
import { mount } from "./shell.js";

/** @typedef {import("./choice_sums.js").Kernel} Kernel @typedef {import("./choice_sums.js").Problem} Problem */

/**
 * The choice at a step, and everything that follows from it.
 * @param {import("./shell.js").Shell} shell
 * @param {number} step
 */
function situation(shell, step) {
  const head = shell.head();
  const get = (/** @type {string} */ name) => shell.setting(name);
  const gpu = head.gpus.find((/** @type {any} */ g) => g.key === get("gpu")) ?? head.gpus[0];
  const causal = Boolean(get("causal"));
  const kernels = kernelsOf(shell.data(), gpu.capability, get("d"), causal);
  const clicked = get("at") === step ? get("tile") : null;
  const own = kernels.find((kernel) => kernel.standard) ?? kernels[0];
  const [story, m, n] = head.path[step];
  const tile = clicked ?? (m ? [m, n] : [own.m, own.n]);
  const kernel = kernels.find((k) => k.m === tile[0] && k.n === tile[1]);
  /** @type {(m: number, n: number, length?: number) => Problem} */
  const problem = (blockM, blockN, length = get("n")) => ({ lenQ: length, lenK: length, d: get("d"), blockM, blockN, causal, itemsize: head.itemsize });
  const p = problem(tile[0], tile[1]);
  const flash = { bytes: flashBytes(p), ratio: flopsOf(p) / flashBytes(p) };
  const eager = { ...p, blockM: head.standardTile, blockN: head.standardTile }; // its products choose their own tiles
  const standard = { bytes: standardBytes(eager), ratio: flopsOf(p) / standardBytes(eager) };
  return { gpu, kernels, kernel, story: clicked ? "chosen" : story, tile, problem, p, flash, standard, eager, programs: kernel ? programsOf(kernel, gpu) : null };
}

/** @typedef {ReturnType<typeof situation>} Situation */

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const head = shell.head();
  const words = shell.words();
  const last = head.path.length - 1;
  /** @type {Record<number, string>} */
  const questions = {};
  for (const story of ["m", "n"]) {
    questions[head.path.findIndex((/** @type {any[]} */ p) => p[0] === story && p[story === "m" ? 1 : 2] === 128)] = story;
  }
  const open = (/** @type {number} */ step) => step in questions && shell.predicts() && !shell.guess(questions[step]) && shell.setting("at") !== step;
  const answer = (/** @type {number | null} */ ratio) => {
    if (!open(shell.step())) return;
    shell.answer(questions[shell.step()], { ratio });
    shell.root.focus({ preventScroll: true });
  };
  const grid = tileGrid(head.blocks, (m, n) => {
    const step = shell.step();
    shell.set("tile", [m, n]);
    shell.set("at", step);
    shell.root.focus({ preventScroll: true });
  });
  const roof = roofPicture();
  const lines = formula(4);
  const room = bars(" ", [words.bar_shared, words.bar_registers, words.bar_bytes, words.bar_standard]);
  const ask = ratioButtons(words, answer);
  const controls = chooserControls(shell, head, words);
  shell.root.classList.add("fa-choosing");
  shell.body.append(
    controls.root,
    html("div", { class: "fa-choice-pair" },
      html("div", {}, roof.root, ask.root, lines.root),
      html("div", {}, html("div", { class: "fa-choice-title" }, words.grid, controls.metric), grid.root,
        html("div", { class: "fa-choice-legend" }, words.legend), room.root, controls.play)),
  );

  return {
    last: () => last,
    asked: open,
    reveal: () => answer(null),
    settings() {
      controls.refresh(situation(shell, shell.step()));
      shell.repaint();
    },
    caption: (step) => sentence(situation(shell, step), step, words, open(step), head),
    draw(step) {
      const now = situation(shell, step);
      const guessing = open(step);
      controls.refresh(now);
      grid.draw((m, n) => cell(now, guessing && shell.setting("metric") === "bytes" ? "programs" : shell.setting("metric"), m, n, words));
      roof.draw(points(now, words, guessing), words);
      roof.root.setAttribute("aria-label", sentence(now, step, words, guessing, head).replaceAll("*", ""));
      lines.draw(guessing ? [] : sums(now, words));
      drawRoom(room, now, words, guessing);
      const guess = shell.guess(questions[step]);
      ask.show(guessing, guess, guess ? ratioOf(shell, step) : 1);
    },
  };
}

/**
 * By what factor the step changed the FLOPs per byte.
 * @param {import("./shell.js").Shell} shell
 * @param {number} step
 */
function ratioOf(shell, step) {
  return step ? situation(shell, step).flash.ratio / situation(shell, step - 1).flash.ratio : 1;
}

/**
 * One cell of the grid.
 * @param {Situation} now
 * @param {string} metric
 * @param {number} m
 * @param {number} n
 * @param {Record<string, string>} words
 * @returns {import("./choice_grid.js").Cell}
 */
function cell(now, metric, m, n, words) {
  const kernel = now.kernels.find((k) => k.m === m && k.n === n);
  const chosen = now.tile[0] === m && now.tile[1] === n;
  if (!kernel) return { text: "", level: 0, state: "none", note: "", chosen, label: `${m} × ${n}` };
  const none = kernel.shared < 0;
  const values = {
    programs: () => ({ text: String(programsOf(kernel, now.gpu).least), level: programsOf(kernel, now.gpu).least / 8 }),
    shared: () => ({ text: amount(none ? kernel.bound : kernel.shared), level: kernel.shared / kernel.limit }),
    registers: () => ({ text: String(kernel.registers), level: kernel.registers / 255 }),
    bytes() {
      const [bytes, most] = [m, Math.min(...now.kernels.map((k) => k.m))].map((rows) => flashBytes(now.problem(rows, n)));
      return { text: amount(bytes), level: bytes / most };
    },
  };
  const value = values[/** @type {keyof typeof values} */ (metric)]();
  const hidden = none && metric !== "shared" && metric !== "bytes";
  const state = none ? "none" : kernel.spills > 0 ? "spills" : "fits";
  const note = none ? words.toolarge : kernel.standard ? words.default : state === "spills" ? fill(words.spilling, { s: kernel.spills }) : "";
  const text = hidden ? "–" : value.text;
  return { text, level: Math.min(1, value.level), state, note, chosen, label: `${m} × ${n}: ${text} ${note}` };
}

/**
 * Standard, Flash and one query, here and (small) for other lengths.
 * @param {Situation} now
 * @param {Record<string, string>} words
 * @param {boolean} hidden  Flash's point would give the answer away
 */
function points(now, words, hidden) {
  const { gpu, problem, tile } = now;
  const one = { ...problem(tile[0], tile[1]), lenQ: 1 };
  const query = flopsOf(one) / flashBytes(one);
  /** @type {import("./roofline_picture.js").Spot[]} */
  const spots = [];
  const put = (/** @type {string} */ name, /** @type {number} */ x, /** @type {"square" | "disc" | "triangle"} */ shape, /** @type {any} */ more = {}) =>
    void spots.push({ name: name && fill(words.named, { name, x: plain(x) }), x, y: attainable(gpu, x), shape, ...more });
  for (let length = 512; length <= 1 << 17; length *= 4) {
    const p = problem(tile[0], tile[1], length);
    put("", flopsOf(p) / standardBytes({ ...now.eager, lenQ: length, lenK: length }), "square", { small: true });
    if (!hidden && now.story !== "start") put("", flopsOf(p) / flashBytes(p), "disc", { small: true });
  }
  put(words.decode, query, "triangle");
  put(words.standard, now.standard.ratio, "square", { now: now.story === "start" });
  if (!hidden && now.story !== "start") put(words.flash, now.flash.ratio, "disc", { now: true, below: now.flash.ratio > (gpu.peak / gpu.bandwidth) * 0.6 });
  return { gpu, spots, low: 0.5, high: 2000 };
}

/**
 * Shared memory, registers and bytes against their limits.
 * @param {import("./ledger.js").Bars} room
 * @param {Situation} now
 * @param {Record<string, string>} words
 * @param {boolean} hidden  the bytes would give the answer away
 */
function drawRoom(room, now, words, hidden) {
  const { kernel, flash, standard } = now;
  const most = Math.max(flash.bytes, standard.bytes);
  const none = !kernel || kernel.shared < 0;
  const shared = kernel ? (none ? kernel.bound : kernel.shared) : 0;
  room.draw([
    { part: kernel ? shared / kernel.limit : 0, text: kernel ? fill(words.of, { a: amount(shared), b: amount(kernel.limit) }) : "–" },
    { part: none ? 0 : kernel.registers / 255, text: none ? "–" : fill(words.of, { a: String(kernel.registers), b: "255" }) },
    { part: hidden ? 0 : flash.bytes / most, text: hidden ? "?" : amount(flash.bytes) },
    { part: standard.bytes / most, text: amount(standard.bytes) },
  ]);
  const title = room.root.querySelector("h4");
  const fields = { m: now.tile[0], k: now.tile[1], w: kernel?.warps ?? 0 };
  if (title) title.textContent = fill(none ? words.nokernel : words.room, fields);
}

/**
 * The sums beside the picture.
 * @param {Situation} now
 * @param {Record<string, string>} words
 */
function sums(now, words) {
  const { gpu, p, kernel, programs } = now;
  const start = now.story === "start";
  const { bytes, ratio } = start ? now.standard : now.flash;
  const top = attainable(gpu, ratio);
  const limited = ratio < gpu.peak / gpu.bandwidth;
  const speed = limited ? `${plain(ratio)} × ${rate(gpu.bandwidth)} = *${rate(top, "FLOP/s")}*` : `*${rate(top, "FLOP/s")}*`;
  const per = !kernel || !programs ? "–" : kernel.shared < 0 ? fill(words.sum_none, { a: amount(kernel.bound), b: amount(kernel.limit) })
    : fill(words.sum_programs, { a: programs.shared, b: programs.registers, c: programs.warps, p: programs.least });
  const lines = [
    { name: words.row_ratio, ink: "stat", text: `${rate(flopsOf(p), "FLOP")} / ${amount(bytes)} = *${plain(ratio)}*`, lit: true },
    { name: words.row_rate, ink: "stat", text: speed, lit: true },
    { name: words.row_time, ink: "stat", text: `${rate(flopsOf(p), "FLOP")} / ${rate(top, "FLOP/s")} = *${duration(flopsOf(p) / top)}*`, lit: true },
  ];
  return start ? lines : [...lines, { name: words.row_programs, ink: "stat", text: per, lit: true }];
}

/**
 * The one sentence of a step.
 * @param {Situation} now
 * @param {number} step
 * @param {Record<string, string>} words
 * @param {boolean} open
 * @param {any} head
 */
function sentence(now, step, words, open, head) {
  const { gpu, kernel, programs, tile } = now;
  if (open) {
    const side = now.story === "m" ? 1 : 2;
    return fill(words[`ask_${now.story}`], { a: head.path[step - 1][side], b: head.path[step][side] });
  }
  if (now.story === "start") {
    return fill(words.say_start, { n: counted(now.p.lenK), x: plain(now.standard.ratio), gpu: gpu.name, r: plain(gpu.peak / gpu.bandwidth) });
  }
  const none = !kernel || kernel.shared < 0;
  const fit = none ? fill(words.fit_none, { a: amount(kernel?.bound ?? 0), b: amount(kernel?.limit ?? 0) })
    : kernel.spills ? fill(words.fit_spills, { s: counted(kernel.spills) })
    : programs?.least === 1 ? words.fit_one : fill(words.fit_ok, { p: programs?.least ?? 0 });
  return fill(words[`say_${now.story}`], { m: tile[0], k: tile[1], x: plain(now.flash.ratio), n: counted(head.made.length), fit });
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
