// @ts-check
// The memory ladder: five levels of a GPU, a tensor beside them, and where it fits.
import { fill, html } from "./dom.js";
import { figuresOf, placed, tensorBytes } from "./ladder_sums.js";
import { ladderPicture } from "./ladder_picture.js";
import { formula } from "./ledger.js";
import { amount, counted, duration, plain, rate } from "./numbers.js";
import { mount } from "./shell.js";

const INKS = { q: "q", k: "k", s: "s", heads: "s" };
const FITS = 6; // the step that places the tensor; before it come the start and five levels

/**
 * What is on show, worked out once for a drawing.
 * @param {import("./shell.js").Shell} shell
 */
function scene(shell) {
  const head = shell.head();
  const at = Math.max(0, head.gpus.findIndex((/** @type {any} */ g) => g.key === shell.setting("gpu")));
  const [what, n, d] = ["what", "n", "d"].map((name) => shell.setting(name));
  const size = tensorBytes(head, what, n, d);
  const figures = figuresOf(shell.data(), at, head.levels.length);
  return { gpu: head.gpus[at], what, n, d, size, figures, place: placed(figures, size) };
}

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const head = shell.head();
  const words = shell.words();
  const names = head.levels.map((/** @type {string} */ name) => words[`level_${name}`]);
  const called = (/** @type {any} */ now) => fill(words[`what_${now.what}`], { h: head.heads });
  const key = () => ["gpu", "what", "n", "d"].map((name) => shell.setting(name)).join("/");
  const hidden = () => shell.predicts() && !shell.guess("fits") && shell.step() <= FITS; // once answered, all is open
  const open = () => shell.step() === FITS && hidden();
  const answer = (/** @type {number | null} */ level) => {
    if (!open()) return;
    shell.answer("fits", { of: key(), level });
    shell.root.focus({ preventScroll: true });
  };
  const picture = ladderPicture(words.title, answer);
  const lines = formula(4);
  const source = html("div", { class: "fa-rung-source" });
  const verdict = html("div", { class: "fa-rung-verdict", "aria-live": "polite" });
  const controls = sliders(shell, head, words);
  const wrap = html("div", { class: "fa-rung-stage" }, picture.root);
  shell.body.append(controls.root, wrap, html("div", { class: "fa-rung-under" }, lines.root, verdict), source);
  const last = () => FITS + (scene(shell).gpu.claim ? 1 : 0);

  return {
    last,
    asked: open,
    reveal: () => answer(null),
    settings() {
      controls.refresh();
      if (shell.step() > last()) shell.go(last());
      shell.repaint();
    },
    caption: (step) => sentence(scene(shell), step, words, open(), called(scene(shell))),
    draw(step) {
      const now = scene(shell);
      const { figures, place, gpu } = now;
      const level = step >= 1 && step <= 5 ? step - 1 : step === FITS && !open() ? place.first : -1;
      const told = shell.guess("fits")?.of === key() ? shell.guess("fits") : null;
      picture.ask(open(), names);
      picture.draw({
        names, notes: notesOf(now, words), now: level, linear: shell.setting("scale") === "true",
        values: [figures.bytes, figures.bandwidth, figures.latency, place.seconds], measured: figures.measured,
        missing: [[...Array(4).fill(words.unknown), words.machine], ...Array(3).fill(Array(5).fill(words.unknown))],
        tensor: { ink: INKS[/** @type {keyof typeof INKS} */ (now.what)], name: now.what === "heads" ? "S" : now.what.toUpperCase(), size: now.size, holds: place.holds, hidden: hidden() },
        claim: step > FITS ? { low: gpu.l1, high: figures.bytes[2], from: 20e6, to: 40e6 } : null,
      }, words);
      picture.root.setAttribute("aria-label", sentence(now, step, words, open(), called(now)).replaceAll("*", ""));
      lines.draw(sums(now, words, names, head).slice(0, hidden() ? 1 : 4));
      verdict.textContent = step === FITS && told && told.level !== null
        ? fill(told.level === place.first ? words.guess_right : words.guess_wrong, { level: names[told.level] })
        : step === FITS && told ? words.shown : "";
      const said = level < 0 || step > FITS ? [] : [...new Set(Object.values(gpu.sources[level]))];
      source.textContent = said.length ? `${words.source}: ${said.join(" · ")}` : words.sources;
    },
  };
}

/**
 * What stands under a level's name.
 * @param {any} now
 * @param {Record<string, string>} words
 */
function notesOf(now, words) {
  const { gpu, figures } = now;
  const cut = (/** @type {number} */ i) => (Number.isFinite(figures.each[i]) ? fill(words.each, { n: gpu.sms, each: amount(figures.each[i]) }) : "");
  return [cut(0), cut(1), words.cache, "", gpu.pcie ? fill(words.over, { g: gpu.pcie }) : ""];
}

/**
 * The sums beside the picture.
 * @param {any} now
 * @param {Record<string, string>} words
 * @param {string[]} names
 * @param {any} head
 */
function sums(now, words, names, head) {
  const { n, d, size, figures, place } = now;
  const factors = { q: [head.tileRows, d], k: [n, d], s: [n, n], heads: [head.heads, n, n] }[/** @type {string} */ (now.what)] ?? [];
  const ink = INKS[/** @type {keyof typeof INKS} */ (now.what)];
  const [first, last] = [place.first, figures.bytes.length - 1];
  const pass = (/** @type {number} */ i) => Number.isFinite(place.seconds[i])
    ? `${amount(size)} / ${rate(figures.bandwidth[i])} = *${duration(place.seconds[i])}*` : words.no_rate;
  const chain = first === last ? words.nowhere : `${amount(size)} ≤ *${amount(figures.bytes[first])}* ${names[first]}`;
  return [
    { name: words.row_size, ink, text: `${factors.map(counted).join(" × ")} × ${head.itemsize} B = *${amount(size)}*`, lit: true },
    { name: words.row_fits, ink, text: chain, lit: true },
    { name: words.row_there, ink, text: pass(first), lit: true },
    { name: words.row_hbm, ink, text: first === last ? words.nowhere : pass(3), lit: true },
  ];
}

/**
 * The one sentence of a step.
 * @param {any} now
 * @param {number} step
 * @param {Record<string, string>} words
 * @param {boolean} open
 * @param {string} called
 */
function sentence(now, step, words, open, called) {
  const { gpu, figures, place, size } = now;
  if (open) return fill(words.ask, { t: called, b: amount(size) });
  if (step === 0) return fill(words.say_start, { gpu: gpu.name });
  if (step > FITS) return fill(words.say_claim, { l1: amount(gpu.l1), n: gpu.sms, each: amount(gpu.l1Each), l2: amount(figures.bytes[2]) });
  if (step === FITS) {
    const time = (/** @type {number} */ i) => (Number.isFinite(place.seconds[i]) ? duration(place.seconds[i]) : words.unknown);
    const onChip = place.first < 3;
    return fill(onChip ? words.say_fits : words.say_fits_hbm, {
      t: called, b: amount(size), level: words[`level_${["registers", "shared", "l2", "hbm", "host"][place.first]}`], here: time(place.first), hbm: time(3),
    });
  }
  const i = step - 1;
  const sms = { n: gpu.sms, each: amount(figures.each[i]), total: amount(figures.bytes[i]), block: amount(gpu.block) };
  if (i === 3) {
    return fill(words.say_hbm, { ...sms, larger: plain(figures.bytes[3] / figures.bytes[1]), slower: plain(figures.bandwidth[1] / figures.bandwidth[3]) });
  }
  if (i === 4) {
    if (!gpu.pcie) return fill(words.say_host_unknown, { gpu: gpu.name });
    return fill(words.say_host, { g: gpu.pcie, slower: plain(figures.bandwidth[3] / figures.bandwidth[4]) });
  }
  return fill([words.say_registers, words.say_shared, words.say_l2][i], sms);
}

/**
 * Which tensor, N, d; which GPU, which scale.
 * @param {import("./shell.js").Shell} shell
 * @param {any} head
 * @param {Record<string, string>} words
 */
function sliders(shell, head, words) {
  const choose = (/** @type {string} */ name, /** @type {string} */ label, /** @type {[string, string][]} */ choices) => {
    const select = /** @type {HTMLSelectElement} */ (html("select", { class: `fa-select fa-${name}` }, ...choices.map(([value, text]) => html("option", { value }, text))));
    select.addEventListener("change", () => shell.set(name, select.value));
    return { name, control: select, root: html("label", {}, label, select), show: () => void (select.value = String(shell.setting(name))) };
  };
  const slide = (/** @type {string} */ name, /** @type {string} */ label, /** @type {number[]} */ choices) => {
    const input = /** @type {HTMLInputElement} */ (html("input", { type: "range", min: "0", max: String(choices.length - 1), step: "1", class: `fa-slide fa-slide-${name}`, "aria-label": label }));
    const value = html("output", {});
    input.addEventListener("input", () => shell.set(name, choices[Number(input.value)]));
    return {
      root: html("label", { class: "fa-sizes" }, html("span", {}, label), input, value),
      show() {
        const at = choices.indexOf(shell.setting(name));
        if (Number(input.value) !== at) input.value = String(at);
        value.textContent = counted(shell.setting(name));
        input.setAttribute("aria-valuetext", value.textContent);
      },
    };
  };
  const gpu = choose("gpu", words.gpu, head.gpus.map((/** @type {any} */ g) => [g.key, g.name]));
  const what = choose("what", words.tensor, head.tensors.map((/** @type {string} */ name) => [name, fill(words[`what_${name}`], { h: head.heads })]));
  const lengths = slide("n", "N", head.lengths);
  const dims = slide("d", "D", head.dims);
  const scale = choose("scale", words.scale, [["log", words.log], ["true", words.true]]);
  const parts = [gpu, what, lengths, dims, scale];
  shell.after.append(html("div", { class: "fa-options" }, scale.root, html("span", { class: "fa-soft" }, words.model)));
  const refresh = () => parts.forEach((part) => part.show());
  refresh();
  return { root: html("div", { class: "fa-rung-settings" }, gpu.root, what.root, lengths.root, dims.root), refresh };
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
