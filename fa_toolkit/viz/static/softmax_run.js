// @ts-check
// Softmax over one row in three ways, step by step. The same frames as viz/softmax_stepper/frames.py; a test compares them.

/**
 * @typedef {[number, number, number[]]} Part
 * @typedef {{
 *   kind: string, block: number, start: number, stop: number, m: number | null, l: number | null, acc: number[] | null,
 *   m_old: number | null, l_old: number | null, acc_old: number[] | null, m_in: number | null, l_in: number | null,
 *   acc_in: number[] | null, factor: number | null, factor_in: number | null, terms: (number | null)[],
 *   subtract: number | null, no_max: number | null, parts: Part[], reads: number, out: number[] | null,
 * }} Frame
 * @typedef {{
 *   x: number[], blocks: number[], v: number[][], stops: number[], views: Record<string, Frame[]>, whole: number[],
 *   out: number[], gaps: Record<string, number>, first: Record<string, number>,
 * }} Run
 */

/** @type {Frame} */
const BLANK = {
  kind: "start", block: -1, start: 0, stop: 0, m: null, l: null, acc: null, m_old: null, l_old: null, acc_old: null,
  m_in: null, l_in: null, acc_in: null, factor: null, factor_in: null, terms: [], subtract: null, no_max: null, parts: [], reads: 0, out: null,
};

const total = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0);
const scaledBy = (/** @type {number[]} */ values, /** @type {number} */ factor) => values.map((value) => value * factor);

/**
 * The sum of weight times row of V.
 * @param {number[]} weights
 * @param {number[][]} v
 */
function weighted(weights, v) {
  return v[0].map((_, d) => total(weights.map((weight, i) => weight * v[i][d])));
}

/**
 * V where nobody gave one: the key's number, and whether it is odd.
 * @param {number} length
 */
export function defaultValues(length) {
  return Array.from({ length }, (_, i) => [i + 1, 1 - (i % 2)]);
}

/** @param {number[]} x */
function reel(x) {
  let now = { ...BLANK, terms: x.map(() => /** @type {number | null} */ (null)) };
  const frames = [now];
  return {
    frames,
    now: () => now,
    /** @param {string} kind @param {Partial<Frame>} changed */
    step(kind, changed) {
      now = { ...now, ...changed, kind };
      frames.push(now);
    },
    /** @param {Partial<Frame>} changed */
    set(changed) {
      now = { ...now, ...changed };
    },
  };
}

/**
 * e^(x - m) of the columns before `stop`, null after.
 * @param {number[]} x
 * @param {number} stop
 * @param {number} m
 */
const termsTo = (x, stop, m) => x.map((value, i) => (i < stop ? Math.exp(value - m) : null));

/**
 * @param {ReturnType<typeof reel>} roll
 * @param {number[]} x
 */
function divided(roll, x) {
  const { m, l, acc } = roll.now();
  const sum = l ?? 1;
  roll.step("done", { terms: x.map((value) => Math.exp(value - (m ?? 0)) / sum), out: (acc ?? []).map((a) => a / sum) });
  return roll.frames;
}

/**
 * @param {number[]} x
 * @param {number[][]} v
 * @param {[number, number][]} cuts
 */
function onlineFrames(x, v, cuts) {
  const roll = reel(x);
  let noMax = 0;
  cuts.forEach(([start, stop], block) => {
    const before = roll.now();
    roll.step("arrive", { block, start, stop, m_old: before.m, l_old: before.l, acc_old: before.acc, factor: null, reads: stop });
    const m = Math.max(...x.slice(0, stop));
    const first = before.m === null;
    const factor = first ? 0 : Math.exp((before.m ?? 0) - m);
    roll.step("max", { m, factor: first ? null : factor });
    if (!first) {
      roll.step("correct", {
        l: factor * (before.l ?? 0), acc: scaledBy(before.acc ?? [], factor), terms: termsTo(x, start, m),
        subtract: (before.subtract ?? 0) - start * (m - (before.m ?? 0)),
      });
    }
    const part = x.slice(start, stop);
    const fresh = part.map((value) => Math.exp(value - m));
    noMax = Math.fround(noMax + total(part.map((value) => Math.fround(Math.exp(Math.fround(value))))));
    const gained = weighted(fresh, v.slice(start, stop));
    const held = roll.now();
    roll.step("add", {
      l: (first ? 0 : held.l ?? 0) + total(fresh), acc: gained.map((a, d) => a + (first ? 0 : held.acc?.[d] ?? 0)),
      terms: termsTo(x, stop, m), subtract: (held.subtract ?? 0) + total(fresh), no_max: noMax,
    });
  });
  return divided(roll, x);
}

/**
 * @param {number[]} x
 * @param {number[][]} v
 * @param {[number, number][]} cuts
 */
function threeFrames(x, v, cuts) {
  const roll = reel(x);
  cuts.forEach(([start, stop], block) =>
    roll.step("scan", { block, start, stop, m_old: roll.now().m, m: Math.max(...x.slice(0, stop)), reads: stop }));
  const m = Math.max(...x);
  const terms = x.map((value) => Math.exp(value - m));
  cuts.forEach(([start, stop], block) =>
    roll.step("sum", { block, start, stop, m_old: m, l_old: roll.now().l, l: total(terms.slice(0, stop)), terms: termsTo(x, stop, m), reads: x.length + stop }));
  const p = scaledBy(terms, 1).map((term) => term / total(terms));
  cuts.forEach(([start, stop], block) =>
    roll.step("write", {
      block, start, stop, l_old: null, acc_old: roll.now().acc, acc: weighted(p.slice(0, stop), v.slice(0, stop)),
      terms: p.map((value, i) => (i < stop ? value : null)), reads: 2 * x.length + stop,
    }));
  roll.step("done", { out: roll.now().acc });
  return roll.frames;
}

/**
 * @param {number[]} x
 * @param {number[][]} v
 * @param {[number, number][]} cuts
 */
function mergedFrames(x, v, cuts) {
  const roll = reel(x);
  cuts.forEach(([start, stop], block) => {
    const m = Math.max(...x.slice(start, stop));
    roll.step("own_max", { block, start, stop, m, l: null, acc: null, reads: stop });
    const fresh = x.slice(start, stop).map((value) => Math.exp(value - m));
    const acc = weighted(fresh, v.slice(start, stop));
    const terms = roll.now().terms.map((term, i) => (i >= start && i < stop ? fresh[i - start] : term));
    roll.step("own_sum", { l: total(fresh), acc, terms, parts: [...roll.now().parts, [m, total(fresh), acc]] });
  });
  const parts = roll.now().parts;
  let [m_old, l_old, acc_old] = parts[0];
  roll.set({ m: m_old, l: l_old, acc: acc_old });
  cuts.slice(1).forEach(([start, stop], i) => {
    const [m_in, l_in, acc_in] = parts[i + 1];
    const m = Math.max(m_old, m_in);
    const [factor, factor_in] = [Math.exp(m_old - m), Math.exp(m_in - m)];
    roll.step("meet", { block: i + 1, start, stop, m, m_old, l_old, acc_old, m_in, l_in, acc_in, factor, factor_in });
    const after = roll.now().terms;
    roll.step("weigh", {
      l: factor * l_old, acc: scaledBy(acc_old, factor),
      terms: x.map((value, column) => (column < stop ? Math.exp(value - m) : after[column])),
    });
    const l = l_old * factor + l_in * factor_in;
    const acc = acc_old.map((a, d) => a * factor + acc_in[d] * factor_in);
    roll.step("join", { l, acc });
    [m_old, l_old, acc_old] = [m, l, acc];
  });
  return divided(roll, x);
}

/**
 * The first probability by the rule that subtracts, which is wrong.
 * @param {number[]} x
 * @param {[number, number][]} cuts
 */
function subtracted(x, cuts) {
  /** @type {number[]} */
  let kept = [];
  let m = -Infinity;
  for (const [start, stop] of cuts) {
    const next = Math.max(m, ...x.slice(start, stop));
    const rise = m > -Infinity ? next - m : 0;
    kept = [...kept.map((term) => term - rise), ...x.slice(start, stop).map((value) => Math.exp(value - next))];
    m = next;
  }
  return kept[0] / total(kept);
}

/**
 * @param {number[]} x
 * @param {number[]} blocks
 * @param {number[][]} [given]
 * @returns {Run}
 */
export function softmaxRun(x, blocks, given) {
  const v = given ?? defaultValues(x.length);
  const stops = blocks.map((_, i) => total(blocks.slice(0, i + 1)));
  const cuts = stops.map((stop, i) => /** @type {[number, number]} */ ([stop - blocks[i], stop]));
  const views = { three: threeFrames(x, v, cuts), online: onlineFrames(x, v, cuts), merged: mergedFrames(x, v, cuts) };
  const terms = x.map((value) => Math.exp(value - Math.max(...x)));
  const whole = terms.map((term) => term / total(terms));
  const gaps = Object.fromEntries(Object.entries(views).map(([view, frames]) =>
    [view, Math.max(...frames[frames.length - 1].terms.map((p, i) => Math.abs((p ?? 0) - whole[i])))]));
  const raw = x.map((value) => Math.fround(Math.exp(Math.fround(value))));
  const first = { multiply: views.online[views.online.length - 1].terms[0] ?? 0, subtract: subtracted(x, cuts), no_max: raw[0] / Math.fround(total(raw)) };
  return { x, blocks, v, stops, views, whole, out: weighted(whole, v), gaps, first };
}
