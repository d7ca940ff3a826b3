// Answers Python's questions about the JavaScript parts: node parity.mjs questions.json > answers.json
import { readFileSync } from "node:fs";
import { columns } from "../../../fa_toolkit/viz/static/columns.js";
import { film, NEVER } from "../../../fa_toolkit/viz/static/film.js";
import { kernelReel } from "../../../fa_toolkit/viz/static/kernel_frames.js";
import { amount, filled, plain, rate, subtrahend } from "../../../fa_toolkit/viz/static/numbers.js";
import { bills, race } from "../../../fa_toolkit/viz/static/race.js";
import { softmaxRun } from "../../../fa_toolkit/viz/static/softmax_run.js";
import { formulaRows, sentence } from "../../../fa_toolkit/viz/static/softmax_words.js";
import { firstFlashWalk, flashWalk, standardWalk, TENSORS, visiblePairs } from "../../../fa_toolkit/viz/static/walk.js";

const asked = JSON.parse(readFileSync(process.argv[2], "utf8"));
const real = (x) => ({ inf: Infinity, "-inf": -Infinity, nan: NaN })[x] ?? x;

function numbers(values) {
  return values.map(real).map((x) => ({ plain: plain(x), four: plain(x, 4), subtrahend: subtrahend(x),
    amount: Math.abs(x) < Infinity ? amount(Math.abs(x)) : "", rate: Math.abs(x) < Infinity ? rate(Math.abs(x)) : "" }));
}

function walks(cases) {
  return cases.map((sizes) => {
    const made = { standard: standardWalk(sizes), flash: flashWalk(sizes), fa1: firstFlashWalk(sizes) };
    const byTensor = {};
    for (const [name, walk] of Object.entries(made)) {
      const sum = bills(walk, TENSORS.length);
      byTensor[name] = TENSORS.map((_, t) => [sum.of(walk.bytes.length, t, 0), sum.of(walk.bytes.length, t, 1)]);
    }
    const ends = ["programs", "tiles"].map((detail) => {
      const run = race([made.standard, made.flash], detail);
      const last = run.frames - 1;
      return { frames: run.frames, moved: [run.moved(0, last), run.moved(1, last)], totals: run.totals,
        rising: [0, 1].every((w) => run.at[w].every((at, f) => f === 0 || at >= run.at[w][f - 1])) };
    });
    return { ...made, byTensor, ends, pairs: visiblePairs(sizes) };
  });
}

function films(cases) {
  return cases.map(({ head, blob }) => {
    const bytes = Buffer.from(blob, "base64");
    const data = columns(head.layout, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    return Object.fromEntries(["tiles", "operations"].map((cut) => {
      const roll = film(head, data, data[`${cut}_stop`]);
      const frames = Array.from({ length: roll.frames }, (_, f) => {
        const done = [];
        roll.done(f).forEach((at, i) => f > 0 && at < f && done.push(i));
        const chip = {};
        for (const name of head.names) {
          const value = roll.value(f, name);
          if (value) chip[name] = [value.rows, value.cols, ...Array.from(value.data.slice(0, 3), (x) => (Number.isFinite(x) ? x : String(x)))];
        }
        const lit = {};
        for (const name of head.tensors) if (roll.loaded(f, name) >= 0) lit[name] = roll.loaded(f, name);
        const stored = {};
        for (const name of head.tensors) {
          const side = name.endsWith("_parts") ? head.splits : ["K", "V", "dK", "dV"].includes(name) ? roll.cols : roll.rows;
          const tiles = Array.from({ length: side }, (_, i) => i).filter((i) => roll.stored(name, i) <= f && roll.stored(name, i) !== NEVER);
          if (tiles.length) stored[name] = tiles;
        }
        return { now: roll.tile[f], done, chip, lit, stored, moved: [roll.moved[2 * f], roll.moved[2 * f + 1]] };
      });
      return [cut, frames];
    }));
  });
}

function kernelViews(cases) {
  return cases.map(({ head, blob, lang }) => {
    const bytes = Buffer.from(blob, "base64");
    const data = columns(head.layout, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const code = new Map(head.source);
    return head.reels.map((table, i) => Object.fromEntries(head.cuts.map((cut) => {
      const reel = kernelReel(table, data, "ab"[i], cut);
      return [cut, Array.from({ length: reel.last + 1 }, (_, step) => {
        const here = reel.span(step);
        return { span: [here.start, here.stop, here.first, here.end], asks: reel.question(step),
          says: [false, true].map((open) => reel.sentence(step, head.words[lang], code, open)) };
      })];
    })));
  });
}

const plainNumber = (key, value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);

function softmaxes(cases) {
  return cases.map(({ x, blocks, v, words }) => {
    const run = softmaxRun(x, blocks, v ?? undefined);
    const told = (view, frame, open) => ({ says: sentence(run, view, frame, open, words),
      rows: formulaRows(run, view, frame, open, words).map((r) => [r.name, r.text, r.lit]) });
    const opens = (frame) => (["correct", "weigh"].includes(frame.kind) ? [false, true] : [false]);
    const said = Object.fromEntries(Object.entries(run.views).map(([view, frames]) =>
      [view, frames.map((frame) => opens(frame).map((open) => told(view, frame, open)))]));
    return { run, said };
  });
}

console.log(JSON.stringify({
  numbers: numbers(asked.numbers ?? []),
  filled: (asked.filled ?? []).map(([template, values]) => filled(template, values)),
  walks: walks(asked.walks ?? []),
  films: films(asked.films ?? []),
  kernels: kernelViews(asked.kernels ?? []),
  softmaxes: softmaxes(asked.softmaxes ?? []),
}, plainNumber));
