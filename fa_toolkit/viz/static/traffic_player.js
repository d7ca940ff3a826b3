// @ts-check
// The traffic player: standard attention's three phases beside Flash Attention's one, on one clock.
import { fill, html } from "./dom.js";
import { bars } from "./ledger.js";
import { counted, duration, plain, weight } from "./numbers.js";
import { race } from "./race.js";
import { mount } from "./shell.js";
import { compare, ratioQuestion, sliders } from "./traffic_controls.js";
import { flashSheets, sidePicture, standardSheets, tensorTable } from "./traffic_picture.js";
import { firstFlashWalk, flashWalk, standardWalk, TENSORS, visiblePairs } from "./walk.js";

/** @typedef {import("./walk.js").Walk} Walk @typedef {import("./walk.js").Sizes} Sizes */


/**
 * What the sliders say.
 * @param {import("./shell.js").Shell} shell
 * @returns {Sizes}
 */
function sizesOf(shell) {
  const get = (/** @type {string} */ name) => shell.setting(name);
  return {
    lenQ: get("one") ? 1 : get("n"), lenK: get("n"), d: get("d"), blockM: get("m"), blockN: get("k"),
    causal: Boolean(get("causal")), itemsize: shell.head().itemsize,
  };
}

/**
 * A walk that Python traced.
 * @param {Record<string, any>} data
 * @param {string} side
 * @param {string[]} phases
 * @returns {Walk}
 */
function recorded(data, side, phases) {
  const column = (/** @type {string} */ name) => Array.from(data[`${side}_${name}`]);
  return { phases, phase: column("phase"), program: column("program"), kind: column("kind"), tensor: column("tensor"), box: column("box"), bytes: column("bytes") };
}

/**
 * @param {import("./shell.js").Shell} shell
 * @param {Sizes} sizes
 * @param {string} order
 * @returns {Walk[]}
 */
function walksOf(shell, sizes, order) {
  const head = shell.head();
  const traced = Object.entries(head.traced ?? {}).every(([name, value]) => sizes[/** @type {keyof Sizes} */ (name)] === value);
  if (traced && order === "fa2" && head.traced) {
    return [recorded(shell.data(), "standard", head.phases[0]), recorded(shell.data(), "flash", head.phases[1])];
  }
  return [standardWalk(sizes), order === "fa1" ? firstFlashWalk(sizes) : flashWalk(sizes)];
}

/**
 * @param {import("./shell.js").Shell} shell
 * @returns {import("./shell.js").Scene}
 */
function build(shell) {
  const head = shell.head();
  const words = shell.words();
  const stage = html("div", { class: "fa-traffic" });
  const told = html("div", { class: "fa-told", "aria-live": "polite" });
  const question = ratioQuestion(shell, words);
  /** @type {any} */
  let now = null;
  /** @type {any} what the sliders said before, to compare with */
  let before = null;
  const controls = sliders(shell, head, words);
  shell.body.append(controls.root, html("div", { class: "fa-second" }, controls.boxes, question.root, told), stage);

  /** @returns {boolean} whether the sliders' wish could be granted */
  const settle = () => {
    const sizes = sizesOf(shell);
    const tiles = Math.ceil(sizes.lenQ / sizes.blockM) * Math.ceil(sizes.lenK / sizes.blockN);
    controls.refresh();
    if (tiles > head.most) {
      shell.complain(fill(words.toomany, { n: counted(tiles), most: counted(head.most) }));
      return false;
    }
    shell.complain("");
    const order = shell.setting("order") ?? "fa2";
    const walks = walksOf(shell, sizes, order);
    const run = race(walks, shell.setting("detail") === "tiles" ? "tiles" : "programs");
    const names = [words.standard, order === "fa1" ? words.flash1 : words.flash];
    const places = [standardSheets(sizes), flashSheets(sizes, order)];
    const sides = walks.map((walk, w) => sidePicture(walk, sizes, places[w], words, names[w]));
    const table = tensorTable(walks, words, names);
    const gpu = head.gpus.find((/** @type {any} */ g) => g.key === shell.setting("gpu")) ?? head.gpus[0];
    const moved = bars(words.moved, names, words.pale);
    const time = bars(fill(words.time, { gpu: gpu.name }), names, words.model);
    const kept = bars(words.kept, names, fill(words.crossings, { a: crossings(walks[0]), b: crossings(walks[1]) }));
    const score = sizes.lenQ * sizes.lenK * sizes.itemsize;
    const extra = [2 * score, 4 * sizes.lenQ * (order === "fa1" ? 2 : 1)];
    const flops = 4 * visiblePairs(sizes) * sizes.d;
    const work = [4 * sizes.lenQ * sizes.lenK * sizes.d, flops].map((f) => f / gpu.flops);
    kept.draw(extra.map((bytes) => ({ part: bytes / Math.max(...extra), text: weight(bytes) })));
    stage.replaceChildren(
      html("div", { class: "fa-pair" }, sides[0].root, sides[1].root),
      html("div", { class: "fa-three" }, moved.root, time.root, kept.root), table.root,
    );
    if (before && JSON.stringify(before.sizes) !== JSON.stringify(sizes)) compare(told, words, before, { sizes, totals: run.totals, extra });
    before = { sizes, totals: run.totals, extra };
    now = { run, starts: run.starts(), sides, table, moved, time, gpu, work, walks, sizes };
    return true;
  };
  settle();

  return {
    last: () => now.run.frames - 1,
    marks: () => now.starts,
    asked: (step) => step === 0 && !shell.guess("ratio"),
    reveal: () => shell.answer("ratio", { text: "", value: null }),
    typing: (key) => void (/^[0-9.]$/.test(key) && question.focus()),
    settings() {
      if (settle() && shell.step() > now.run.frames - 1) shell.go(now.run.frames - 1);
      shell.repaint();
    },
    caption(step) {
      if (shell.predicts() && step === 0 && !shell.guess("ratio")) return words.ask;
      return sentence(now, step, words, shell.guess("ratio"));
    },
    draw(step) {
      const open = shell.predicts() && step === 0 && !shell.guess("ratio"); // the bars would tell
      const { run, sides, table, moved, time, gpu, work } = now;
      const back = Math.max(0, step - 1);
      sides.forEach((/** @type {any} */ side, /** @type {number} */ w) => side.draw(step ? run.at[w][back] : 0, run.at[w][step]));
      const most = Math.max(...run.totals, 1);
      moved.draw(run.totals.map((/** @type {number} */ total, /** @type {number} */ w) => ({ part: run.moved(w, step) / most, whole: open ? 0 : total / most, text: weight(run.moved(w, step)) })));
      const seconds = run.totals.map((/** @type {number} */ total, /** @type {number} */ w) => Math.max(total / gpu.bandwidth, work[w]));
      const longest = Math.max(...seconds) || 1;
      time.draw(seconds.map((/** @type {number} */ s, /** @type {number} */ w) => {
        const share = run.totals[w] ? run.moved(w, step) / run.totals[w] : 0;
        return { part: (share * s) / longest, whole: open ? 0 : s / longest, text: share ? duration(share * s) : "0" };
      }));
      table.draw([run.at[0][step], run.at[1][step]]);
      question.show(open);
      told.hidden = open;
    },
  };
}

/**
 * Phases that read plus phases that write.
 * @param {Walk} walk
 */
function crossings(walk) {
  return new Set(walk.phase.map((phase, i) => `${phase}/${walk.kind[i]}`)).size;
}

/**
 * The one sentence of a step.
 * @param {any} now
 * @param {number} step
 * @param {Record<string, string>} words
 * @param {any} guess
 */
function sentence(now, step, words, guess) {
  const { run, walks, sizes } = now;
  const moved = [0, 1].map((w) => weight(run.moved(w, step)));
  if (step === 0) return fill(words.say_start, { n: counted(sizes.lenQ), k: counted(sizes.lenK) });
  if (step === run.frames - 1) {
    const ratio = run.totals[0] / run.totals[1];
    const text = ratio >= 1 ? fill(words.say_end, { x: moved[0], y: moved[1], r: plain(ratio) }) : fill(words.say_end_less, { x: moved[0], y: moved[1], r: plain(1 / ratio) });
    return guess?.value ? text + fill(words.guessed, { g: guess.text }) : text;
  }
  const walk = walks[run.leader];
  const event = run.at[run.leader][step] - 1;
  const first = run.at[run.leader][step - 1];
  const rows = [...Array(event + 1 - first).keys()].map((i) => walk.box.slice(4 * (first + i), 4 * (first + i) + 2)).filter((_, i) => !["K", "V"].includes(TENSORS[walk.tensor[first + i]]));
  const [a, b] = rows.length ? [Math.min(...rows.map((r) => r[0])), Math.max(...rows.map((r) => r[1])) - 1] : [0, 0];
  const key = `say_${walk.phases[walk.phase[event]]}`;
  const done = run.at[1 - run.leader][step] >= walks[1 - run.leader].bytes.length;
  const text = fill(words[key], { a: counted(a), b: counted(b), x: moved[0], y: moved[1] });
  return done ? text + (run.leader === 0 ? words.say_flash_done : words.say_standard_done) : text;
}

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
