// @ts-check
// The live formula of a tile: one row and one key followed from s to p to acc, or through backward.
import { plain, subtrahend } from "./numbers.js";

/**
 * @typedef {import("./film.js").Film} Film
 * @typedef {{ name: string, ink: string, text: string, lit?: boolean }} Line
 */

/**
 * The (row, key) within the tile that the formula follows: pinned by the reader, or the row whose
 * earlier sums shrink most and the key it found there.
 * @param {Film} film
 * @param {number} frame
 * @param {[number, number] | null} pinned
 * @returns {[number, number] | null}
 */
export function followed(film, frame, pinned) {
  const s = film.value(frame, "s") ?? film.value(frame, "p") ?? film.value(frame, "dp");
  const rows = (s ?? film.value(frame, "m") ?? film.value(frame, "q"))?.rows ?? 0;
  if (!rows) return null;
  if (pinned && pinned[0] < rows && (!s || pinned[1] < s.cols)) return pinned;
  const alpha = film.value(frame, "alpha");
  let row = 0;
  if (alpha && film.before(frame, "m")) for (let r = 1; r < alpha.rows; r++) if (alpha.data[r] < alpha.data[row]) row = r;
  let col = 0;
  const best = film.value(frame, "p") ?? s; // after the mask
  if (best) for (let c = 1; c < best.cols; c++) if (best.data[row * best.cols + c] > best.data[row * best.cols + col]) col = c;
  return [row, col];
}

/**
 * @param {{ rows: number, cols: number, data: ArrayLike<number> } | null} x
 * @param {number} r
 * @param {number} [c]
 */
const at = (x, r, c = 0) => (x && r < x.rows && c < x.cols ? x.data[r * x.cols + c] : NaN);

/**
 * @param {{ cols: number, data: ArrayLike<number> }} x
 * @param {number} r
 */
function row(x, r) {
  return Array.from({ length: x.cols }, (_, c) => x.data[r * x.cols + c]);
}

/**
 * Forward: s, m, factor, p, l and one component of acc.
 * @param {Film} film
 * @param {number} frame
 * @param {[number, number]} place
 * @param {boolean} asked  the factor is still the reader's to find
 * @returns {Line[]}
 */
export function forwardLines(film, frame, [r, c], asked) {
  const value = (/** @type {string} */ name) => film.value(frame, name);
  const s = value("s"), p = value("p"), m = value("m"), l = value("l"), acc = value("acc"), v = value("v");
  const o = value("o");
  if (value("lse_parts") && p && m && l && !s) return mergeLines(film, frame);
  if (o) return storedLines(film, frame, r);
  const old = { m: at(film.before(frame, "m"), r), l: at(film.before(frame, "l"), r), acc: at(film.before(frame, "acc"), r) };
  const first = !Number.isFinite(old.l);
  if (first) Object.assign(old, { m: -Infinity, l: 0, acc: 0 });
  const lines = /** @type {Line[]} */ ([]);
  const here = at(s, r, c);
  lines.push({ name: "s", ink: "s", text: s ? `scale · q·k = *${plain(here)}*` : "", lit: Boolean(s && !p) });
  if (!s || !p || !m || !l || !acc) {
    return [...lines, ...["m", "factor", "p", "l", "acc"].map((name) => ({ name, ink: inkOf(name), text: "" }))];
  }
  const alpha = at(value("alpha"), r);
  const factor = asked ? "?" : plain(alpha);
  const sum = row(p, r).reduce((a, b) => a + b, 0);
  const highest = Math.max(...row(s, r));
  const joined = v ? row(p, r).reduce((a, b, j) => a + b * v.data[j * v.cols], 0) : NaN;
  lines.push({ name: "m", ink: "stat", text: `max(${plain(old.m)}, ${plain(highest)}) = *${plain(at(m, r))}*`, lit: true });
  lines.push({ name: "factor", ink: "stat", text: asked ? "" : `e^(${plain(old.m)} − ${subtrahend(at(m, r))}) = *${factor}*`, lit: true });
  lines.push({ name: "p", ink: "s", text: asked ? "" : `e^(${plain(here)} − ${subtrahend(at(m, r))}) = *${plain(at(p, r, c))}*`, lit: true });
  lines.push({ name: "l", ink: "stat", text: asked ? `? · ${plain(old.l)} + …` : `${factor} · ${plain(old.l)} + ${plain(sum)} = *${plain(at(l, r))}*`, lit: true });
  lines.push({ name: "acc", ink: "o", lit: true, text: asked ? `? · ${subtrahend(old.acc)} + …`
    : `${factor} · ${subtrahend(old.acc)} + ${subtrahend(joined)} = *${plain(at(acc, r))}*` });
  return lines;
}

/** @param {string} name */
function inkOf(name) {
  return name === "acc" ? "o" : name === "p" || name === "s" ? "s" : "stat";
}

/**
 * @param {Film} film
 * @param {number} frame
 * @param {number} r
 * @returns {Line[]}
 */
function storedLines(film, frame, r) {
  const [m, l, acc, o, lse] = ["m", "l", "acc", "o", "lse"].map((name) => at(film.value(frame, name), r));
  const known = Number.isFinite(m);
  return [
    { name: "O", ink: "o", lit: true, text: known ? `acc / l = ${plain(acc)} / ${plain(l)} = *${plain(o)}*` : `*${plain(o)}*` },
    { name: "lse", ink: "stat", lit: true, text: known ? `m + ln l = ${plain(m)} + ln ${plain(l)} = *${plain(lse)}*` : `*${plain(lse)}*` },
  ];
}

/**
 * Decoding: the splits of one row become one.
 * @param {Film} film
 * @param {number} frame
 * @returns {Line[]}
 */
function mergeLines(film, frame) {
  const [parts, p, m, l, acc, o] = ["lse_parts", "p", "m", "l", "acc", "o"].map((name) => film.value(frame, name));
  if (!parts || !p) return [];
  const list = (/** @type {ArrayLike<number>} */ x) => {
    const all = Array.from(x, (n) => plain(n));
    return all.length > 4 ? `${all.slice(0, 4).join(", ")}, …` : all.join(", ");
  };
  return [
    { name: "lse", ink: "stat", text: list(parts.data) },
    { name: "m", ink: "stat", lit: true, text: `max(lse) = *${plain(at(m, 0))}*` },
    { name: "p", ink: "s", lit: true, text: `e^(lse − m) = *${list(p.data)}*` },
    { name: "l", ink: "stat", lit: true, text: `Σ p = *${plain(at(l, 0))}*` },
    { name: "acc", ink: "o", lit: true, text: `Σ p · o = *${plain(at(acc, 0))}*` },
    { name: "O", ink: "o", lit: true, text: o ? `acc / l = *${plain(at(o, 0))}*` : "" },
  ];
}

/**
 * Backward: P from lse, dP, dS, and the gradient this launch gathers.
 * @param {Film} film
 * @param {number} frame
 * @param {[number, number]} place
 * @returns {Line[]}
 */
export function backwardLines(film, frame, [r, c]) {
  const value = (/** @type {string} */ name) => film.value(frame, name);
  const delta = at(value("delta"), r);
  if (film.tile[frame] < 0) {
    const [o, g] = [value("o"), value("do")];
    const terms = o && g ? row(o, r).slice(0, 2).map((x, i) => `${subtrahend(at(g, r, i))} · ${subtrahend(x)}`).join(" + ") : "";
    return terms && Number.isFinite(delta) ? [{ name: "Delta", ink: "stat", text: `${terms} + … = *${plain(delta)}*`, lit: true }] : [];
  }
  const s = at(value("s"), r, c), p = at(value("p"), r, c), dp = at(value("dp"), r, c), ds = at(value("ds"), r, c);
  const hidden = p === 0;
  const known = Number.isFinite;
  return [
    { name: "P", ink: "s", lit: true, text: known(p) ? `e^(${hidden ? "−∞" : plain(s)} − ${subtrahend(at(value("lse"), r))}) = *${plain(p)}*` : "" },
    { name: "dP", ink: "s", lit: true, text: known(dp) ? `dO · v = *${plain(dp)}*` : "" },
    { name: "dS", ink: "s", lit: true, text: known(ds) ? `${plain(p)} · (${plain(dp)} − ${subtrahend(delta)}) = *${plain(ds)}*` : "" },
    ...gathered(film, frame, r, c),
  ];
}

/**
 * The gradients that grow in this frame.
 * @param {Film} film
 * @param {number} frame
 * @param {number} r
 * @param {number} c
 * @returns {Line[]}
 */
function gathered(film, frame, r, c) {
  /** @type {Line[]} */
  const lines = [];
  for (const [name, symbol, ink, local] of /** @type {[string, string, string, number][]} */ (
    [["dq", "dQ", "q", r], ["dv", "dV", "v", c], ["dk", "dK", "k", c]]
  )) {
    const now = film.value(frame, name);
    if (!now) continue;
    const old = at(film.before(frame, name), local);
    const new_ = at(now, local);
    const from = Number.isFinite(old) ? old : 0;
    lines.push({ name: symbol, ink, lit: true, text: `${plain(from)} + ${subtrahend(new_ - from)} = *${plain(new_)}*` });
  }
  return lines;
}
