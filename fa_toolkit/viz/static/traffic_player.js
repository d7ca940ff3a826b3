// @ts-check
// The traffic player: standard attention's three phases beside Flash Attention's one, on one clock.
import { fill, html, mark, svg } from "./dom.js";
import { readNumber } from "./guess.js";
import { bars } from "./ledger.js";
import { counted, duration, plain, weight } from "./numbers.js";
import { bills, race } from "./race.js";
import { sheets } from "./sheets.js";
import { mount } from "./shell.js";
import { firstFlashWalk, flashWalk, standardWalk, TENSORS, visiblePairs } from "./walk.js";

/** @typedef {import("./walk.js").Walk} Walk @typedef {import("./walk.js").Sizes} Sizes */

const SIDE = 180;
const TOP = 58;
const STRIP = 16;
const INKS = /** @type {Record<string, string>} */ ({ Q: "q", K: "k", V: "v", S: "s", P: "s", O: "o", lse: "stat", m: "stat", l: "stat" });

/** What the sliders say. @param {import("./shell.js").Shell} shell @returns {Sizes} */
function sizesOf(shell) {
  const get = (/** @type {string} */ name) => shell.setting(name);
  return {
    lenQ: get("one") ? 1 : get("n"), lenK: get("n"), d: get("d"), blockM: get("m"), blockN: get("k"),
    causal: Boolean(get("causal")), itemsize: shell.head().itemsize,
  };
}

/** A walk that Python traced. @param {Record<string, any>} data @param {string} side @param {string[]} phases @returns {Walk} */
function recorded(data, side, phases) {
  const column = (/** @type {string} */ name) => Array.from(data[`${side}_${name}`]);
  return { phases, phase: column("phase"), program: column("program"), kind: column("kind"), tensor: column("tensor"), box: column("box"), bytes: column("bytes") };
}

/** @param {import("./shell.js").Shell} shell @param {Sizes} sizes @param {string} order @returns {Walk[]} */
function walksOf(shell, sizes, order) {
  const head = shell.head();
  const traced = Object.entries(head.traced ?? {}).every(([name, value]) => sizes[/** @type {keyof Sizes} */ (name)] === value);
  if (traced && order === "fa2" && head.traced) {
    return [recorded(shell.data(), "standard", head.phases[0]), recorded(shell.data(), "flash", head.phases[1])];
  }
  return [standardWalk(sizes), order === "fa1" ? firstFlashWalk(sizes) : flashWalk(sizes)];
}

/** Places of the tensors, standard attention. @param {Sizes} sizes */
function standardSheets(sizes) {
  const { rows, cols, tall } = grid(sizes);
  const sheet = (/** @type {string} */ tensor, /** @type {number[]} */ [x, y, w, h], /** @type {number[]} */ [r, c], /** @type {any} */ label, given = false) =>
    ({ tensor, x, y, w, h, rows: r, cols: c, ink: INKS[tensor], given, label });
  const top = TOP;
  return {
    height: top + tall + 36,
    width: 44 + 2 * SIDE + 76,
    plan: [
      sheet("Q", [16, top, STRIP, tall], [rows, 1], { x: 24, y: top - 7 }, true),
      sheet("K", [44, 20, SIDE, STRIP], [1, cols], { x: 36, y: 33, anchor: "end" }, true),
      sheet("S", [44, top, SIDE, tall], [rows, cols], { x: 44 + SIDE, y: top + tall + 17, anchor: "end" }),
      sheet("V", [76 + SIDE, 20, SIDE, STRIP], [1, cols], { x: 68 + SIDE, y: 33, anchor: "end" }, true),
      sheet("P", [76 + SIDE, top, SIDE, tall], [rows, cols], { x: 76 + 2 * SIDE, y: top + tall + 17, anchor: "end" }),
      sheet("O", [88 + 2 * SIDE, top, STRIP, tall], [rows, 1], { x: 96 + 2 * SIDE, y: top - 7 }),
    ],
  };
}

/** Places of the tensors, Flash Attention. @param {Sizes} sizes @param {string} order */
function flashSheets(sizes, order) {
  const { rows, cols, tall } = grid(sizes);
  const top = TOP;
  const base = { rows: 1, cols: 1 };
  const row = order === "fa1" ? ["m", "l"] : ["lse"];
  return {
    height: top + tall + 36,
    width: 44 + SIDE + 116,
    plane: { x: 44, y: top, w: SIDE, h: tall },
    plan: [
      { ...base, tensor: "Q", x: 16, y: top, w: STRIP, h: tall, rows, ink: "q", given: true, label: { x: 24, y: top - 7 } },
      { ...base, tensor: "K", x: 44, y: 20, w: SIDE, h: STRIP, cols, ink: "k", given: true, label: { x: 36, y: 33, anchor: "end" } },
      { ...base, tensor: "V", x: 44, y: top + tall + 12, w: SIDE, h: STRIP, cols, ink: "v", given: true, label: { x: 36, y: top + tall + 25, anchor: "end" } },
      { ...base, tensor: "O", x: 56 + SIDE, y: top, w: STRIP, h: tall, rows, ink: "o", label: { x: 64 + SIDE, y: top - 7 } },
      ...row.map((tensor, i) => ({ ...base, tensor, x: 90 + SIDE + 26 * i, y: top, w: 6, h: tall, rows, ink: "stat", label: { x: 93 + SIDE + 26 * i, y: top - 7 } })),
    ],
  };
}

/** @param {Sizes} sizes */
function grid(sizes) {
  return {
    rows: Math.ceil(sizes.lenQ / sizes.blockM), cols: Math.ceil(sizes.lenK / sizes.blockN),
    tall: sizes.lenQ === 1 ? STRIP : SIDE,
  };
}

/** Tiles of a tensor that a box covers. @param {import("./sheets.js").Sheet} sheet @param {Sizes} sizes @param {number[]} box */
function cover(sheet, sizes, box) {
  const keyed = sheet.tensor === "K" || sheet.tensor === "V";
  const [r0, r1] = keyed ? [0, 1] : [Math.floor(box[0] / sizes.blockM), Math.ceil(box[1] / sizes.blockM)];
  const square = sheet.tensor === "S" || sheet.tensor === "P";
  const [c0, c1] = keyed ? [Math.floor(box[0] / sizes.blockN), Math.ceil(box[1] / sizes.blockN)]
    : square ? [Math.floor(box[2] / sizes.blockN), Math.ceil(box[3] / sizes.blockN)] : [0, 1];
  const cells = [];
  for (let r = r0; r < r1; r++) for (let c = c0; c < c1; c++) cells.push(r * sheet.cols + c);
  return cells;
}

/** One algorithm's picture. @param {Walk} walk @param {Sizes} sizes @param {any} places @param {Record<string, string>} words @param {string} title */
function sidePicture(walk, sizes, places, words, title) {
  const box = svg("svg", { viewBox: `0 0 ${places.width} ${places.height}`, class: "fa-sheets", role: "img", style: `max-width: ${places.width}px` });
  if (places.plane) {
    const { x, y, w, h } = places.plane;
    box.append(svg("rect", { x, y, width: w, height: h, class: "fa-absent" }));
    if (h > 40) {
      box.append(svg("text", { x: x + w / 2, y: y + h / 2 - 2, "text-anchor": "middle" }, "S, P"));
      box.append(svg("text", { x: x + w / 2, y: y + h / 2 + 14, "text-anchor": "middle" }, words.never));
    }
  }
  const drawn = sheets(box, places.plan);
  /** @type {Map<string, Int32Array>} first event that stores a tile */
  const first = new Map(places.plan.map((/** @type {any} */ sheet) => [sheet.tensor, new Int32Array(sheet.rows * sheet.cols).fill(1 << 30)]));
  const byName = new Map(places.plan.map((/** @type {any} */ sheet) => [sheet.tensor, sheet]));
  for (let i = walk.bytes.length - 1; i >= 0; i--) {
    const name = TENSORS[walk.tensor[i]];
    if (walk.kind[i] === 1 && byName.has(name)) {
      for (const cell of cover(byName.get(name), sizes, walk.box.slice(4 * i, 4 * i + 4))) /** @type {Int32Array} */ (first.get(name))[cell] = i;
    }
  }
  const phases = walk.phases.map((phase) => html("span", { class: "fa-phase" }, words[`phase_${phase}`]));
  const doing = html("div", { class: "fa-doing" });
  const root = html("div", { class: "fa-side-of" }, html("h4", {}, title), html("div", { class: "fa-phases" }, ...phases), box, doing);
  return {
    root,
    /** @param {number} from @param {number} to  the events of this step */
    draw(from, to) {
      /** @type {Map<string, { read: Set<number>, written: Set<number> }>} */
      const touched = new Map();
      for (let i = from; i < to; i++) {
        const name = TENSORS[walk.tensor[i]];
        const sheet = byName.get(name);
        if (!sheet) continue;
        if (!touched.has(name)) touched.set(name, { read: new Set(), written: new Set() });
        const set = /** @type {any} */ (touched.get(name))[walk.kind[i] ? "written" : "read"];
        for (const cell of cover(sheet, sizes, walk.box.slice(4 * i, 4 * i + 4))) set.add(cell);
      }
      drawn.draw((tensor) => ({
        read: touched.get(tensor)?.read ?? new Set(),
        written: touched.get(tensor)?.written ?? new Set(),
        stored: (i) => /** @type {Int32Array} */ (first.get(tensor))[i] < to,
      }));
      const names = (/** @type {"read" | "written"} */ way) => [...touched].filter(([, t]) => t[way].size).map(([name]) => name).join(", ");
      const finished = to >= walk.bytes.length && from >= to;
      const [reads, writes] = [names("read"), names("written")];
      mark(doing, finished ? words.finished : [reads && fill(words.reads, { names: reads }), writes && fill(words.writes, { names: writes })].filter(Boolean).join("   "));
      const phase = to > 0 ? walk.phase[to - 1] : -1;
      phases.forEach((span, i) => {
        span.classList.toggle("fa-now", i === phase && !finished);
        span.classList.toggle("fa-past", i < phase || finished);
      });
      box.setAttribute("aria-label", `${title}: ${doing.textContent}`);
    },
  };
}

/** Bytes by tensor, both ways, of both algorithms. @param {Walk[]} walks @param {Record<string, string>} words @param {string[]} names */
function tensorTable(walks, words, names) {
  const used = TENSORS.filter((_, t) => walks.some((walk) => walk.tensor.includes(t)));
  const sums = walks.map((walk) => bills(walk, TENSORS.length));
  const rows = walks.flatMap((_, w) => [0, 1].map((way) => {
    const cells = used.map(() => html("td", {}));
    const root = html("tr", {}, html("th", { scope: "row" }, way === 0 ? names[w] : ""), html("td", { class: "fa-way" }, way ? words.written : words.read), ...cells);
    return { w, way: /** @type {0 | 1} */ (way), cells, root };
  }));
  const headings = used.map((name) => html("th", { scope: "col", class: `fa-ink-${INKS[name]}` }, name));
  const root = html("table", { class: "fa-tensors" }, html("thead", {}, html("tr", {}, html("th", {}), html("th", {}), ...headings)), html("tbody", {}, ...rows.map((row) => row.root)));
  return {
    root,
    /** @param {number[]} stops */
    draw(stops) {
      for (const { w, way, cells } of rows) {
        used.forEach((name, i) => {
          const moved = sums[w].of(stops[w], TENSORS.indexOf(name), way);
          const ever = sums[w].of(walks[w].bytes.length, TENSORS.indexOf(name), way);
          cells[i].textContent = ever ? weight(moved) : "–";
          cells[i].className = moved ? "" : "fa-soft";
        });
      }
    },
  };
}

/** @param {import("./shell.js").Shell} shell @returns {import("./shell.js").Scene} */
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
    now = { run, sides, table, moved, time, gpu, work, walks, sizes };
    return true;
  };
  settle();

  return {
    last: () => now.run.frames - 1,
    marks: () => now.run.starts(),
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

/** Phases that read plus phases that write. @param {Walk} walk */
function crossings(walk) {
  return new Set(walk.phase.map((phase, i) => `${phase}/${walk.kind[i]}`)).size;
}

/** The one sentence of a step. @param {any} now @param {number} step @param {Record<string, string>} words @param {any} guess */
function sentence(now, step, words, guess) {
  const { run, walks, sizes } = now;
  const moved = [0, 1].map((w) => weight(run.moved(w, step)));
  if (step === 0) return fill(words.say_start, { n: counted(sizes.lenQ), k: counted(sizes.lenK) });
  if (step === run.frames - 1) {
    const ratio = run.totals[0] / run.totals[1];
    const text = ratio >= 1 ? fill(words.say_end, { x: moved[0], y: moved[1], r: plain(ratio) }) : fill(words.say_end_less, { x: moved[0], y: moved[1], r: plain(1 / ratio) });
    return guess?.value ? `${text} ${fill(words.guessed, { g: guess.text })}` : text;
  }
  const walk = walks[run.leader];
  const event = run.at[run.leader][step] - 1;
  const first = run.at[run.leader][step - 1];
  const rows = [...Array(event + 1 - first).keys()].map((i) => walk.box.slice(4 * (first + i), 4 * (first + i) + 2)).filter((_, i) => !["K", "V"].includes(TENSORS[walk.tensor[first + i]]));
  const [a, b] = rows.length ? [Math.min(...rows.map((r) => r[0])), Math.max(...rows.map((r) => r[1])) - 1] : [0, 0];
  const key = `say_${walk.phases[walk.phase[event]]}`;
  const done = run.at[1 - run.leader][step] >= walks[1 - run.leader].bytes.length;
  const text = fill(words[key], { a: counted(a), b: counted(b), x: moved[0], y: moved[1] });
  return done ? `${text} ${run.leader === 0 ? words.say_flash_done : words.say_standard_done}` : text;
}

/** What a turn of a slider did. @param {HTMLElement} told @param {Record<string, string>} words @param {any} old @param {any} fresh */
function compare(told, words, old, fresh) {
  const times = (/** @type {number} */ a, /** @type {number} */ b) => `×${plain(b / a)}`;
  const names = { lenQ: "Nq", lenK: "N", d: "d", blockM: "BLOCK_M", blockN: "BLOCK_N" };
  const changed = Object.entries(names).filter(([key]) => old.sizes[key] !== fresh.sizes[key])
    .filter(([key]) => key !== "lenQ" || fresh.sizes.lenQ !== fresh.sizes.lenK).map(([key, name]) => `${name} ${counted(old.sizes[key])} → ${counted(fresh.sizes[key])}`);
  if (old.sizes.causal !== fresh.sizes.causal) changed.push(fresh.sizes.causal ? words.causal_on : words.causal_off);
  mark(told, fill(words.changed, {
    what: changed.join(", "), a: times(old.totals[0], fresh.totals[0]), b: times(old.totals[1], fresh.totals[1]),
    c: times(old.extra[0], fresh.extra[0]), d: times(old.extra[1], fresh.extra[1]),
  }));
}

/** "How many times the bytes?" @param {import("./shell.js").Shell} shell @param {Record<string, string>} words */
function ratioQuestion(shell, words) {
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

/** N, d, BLOCK_M, BLOCK_N, causal, one query, order, GPU, detail. @param {import("./shell.js").Shell} shell @param {any} head @param {Record<string, string>} words */
function sliders(shell, head, words) {
  const ranges = [["n", "N"], ["d", "d"], ["m", "BLOCK_M"], ["k", "BLOCK_N"]].map(([name, label]) => {
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

/** @param {{ model: any, el: HTMLElement }} context */
function render(context) {
  return mount(context, build);
}

export default { render };
