// @ts-check
// Which sentence a step of the stepper says, and its formula: the same strings as viz/softmax_stepper/sentences.py.
import { fill } from "./dom.js";
import { plain, subtrahend } from "./numbers.js";

/** @typedef {import("./softmax_run.js").Frame} Frame */
/** @typedef {import("./softmax_run.js").Run} Run */

const LIT = /** @type {Record<string, string>} */ ({
  max: "m", scan: "m", own_max: "m", meet: "m", correct: "factor", weigh: "factor",
  add: "l", sum: "l", own_sum: "l", join: "l", write: "p", done: "p",
});
const INKS = /** @type {Record<string, string>} */ ({ m: "stat", factor: "stat", l: "stat", acc: "o", o: "o", p: "s" });

/** @param {number | null} value */
export const figure = (value) => (value === null ? "" : plain(value, 4));

/**
 * A label that may be tiny: one digit below 0.0001.
 * @param {number | null} value
 */
export function small(value) {
  if (value === null) return "";
  return Math.abs(value) > 0 && Math.abs(value) < 1e-4 ? plain(value, 1) : plain(value, 4);
}

/** @param {number[] | null} values */
export function vector(values) {
  if (values === null) return "0";
  const text = values.map(small).join(", ");
  return values.length > 1 ? `(${text})` : text;
}

/**
 * The first few of many.
 * @param {string[]} shown
 */
const listed = (shown) => (shown.length <= 6 ? shown : [...shown.slice(0, 5), "…"]).join(", ");

/**
 * The name of a step's sentence.
 * @param {string} view
 * @param {Frame} frame
 * @param {boolean} open  a question is open here
 */
export function sentenceName(view, frame, open) {
  const kind = frame.kind;
  if (kind === "start" || kind === "done") return view === "online" ? kind : `${kind}_${view}`;
  if (open) return kind === "correct" ? "ask" : "ask_weigh";
  if (kind === "max") return frame.m_old === null ? "max_first" : frame.m !== frame.m_old ? "max_grows" : "max_stays";
  if (kind === "correct") return frame.factor === 1 ? "correct_one" : "correct";
  if (kind === "add") return frame.factor !== null ? "add" : "add_first";
  return kind;
}

/**
 * @param {Run} run
 * @param {string} view
 * @param {Frame} frame
 * @param {boolean} open
 * @param {Record<string, string>} words
 */
export function sentence(run, view, frame, open, words) {
  const old = (frame.kind === "sum" ? 1 : frame.factor ?? 0) * (frame.l_old ?? 0);
  const lows = [frame.m_old, frame.m_in].filter((m) => m !== null).map(Number);
  return fill(words[`say_${sentenceName(view, frame, open)}`], {
    count: run.x.length, sizes: run.blocks.join(", "), n: frame.block + 1,
    values: listed(run.x.slice(frame.start, frame.stop).map(figure)),
    m: figure(frame.m), m_old: figure(frame.m_old), m_in: figure(frame.m_in), m_low: lows.length ? figure(Math.min(...lows)) : "",
    l: figure(frame.l), l_old: figure(frame.l_old), acc: vector(frame.acc), factor: figure(frame.factor), factor_in: figure(frame.factor_in),
    added: figure((frame.l ?? 0) - old), reads: frame.reads,
  });
}

/**
 * The factor a question asks for: that of the part with the smaller maximum.
 * @param {Frame} frame
 */
export const askedFactor = (frame) => Math.min(frame.factor ?? 1, frame.factor_in ?? 1);

/**
 * The five rows of the formula.
 * @param {Run} run
 * @param {string} view
 * @param {Frame} frame
 * @param {boolean} open
 * @param {Record<string, string>} words
 */
export function formulaRows(run, view, frame, open, words) {
  const lit = LIT[frame.kind] ?? "";
  const texts = /** @type {Record<string, string>} */ ({
    m: ofM(run, frame), factor: ofFactor(view, frame, open, words), l: ofL(run, frame, open), acc: ofAcc(run, view, frame, open), p: ofP(frame),
  });
  return Object.keys(texts).map((row) => {
    const name = row === "acc" && (frame.kind === "done" || view === "three") ? "o" : row;
    return { name, ink: INKS[name], text: texts[row], lit: row === lit };
  });
}

const signed = (/** @type {number | null} */ value) => (value === null ? "" : subtrahend(value, 4));
const power = (/** @type {number | null} */ old, /** @type {number | null} */ now) => `e^(${figure(old)} − ${signed(now)})`;

/** @param {Run} run @param {Frame} frame */
function ofM(run, frame) {
  if (frame.m === null) return "−∞";
  if (["arrive", "sum", "write", "own_sum", "done"].includes(frame.kind)) return `*${figure(frame.m)}*`;
  if (frame.m_in !== null) return `max(${figure(frame.m_old)}, ${figure(frame.m_in)}) = *${figure(frame.m)}*`;
  const fresh = run.x.slice(frame.start, frame.stop);
  const inside = fresh.length <= 4 ? fresh.map(figure).join(", ") : figure(Math.max(...fresh));
  const old = frame.kind === "own_max" ? "" : `${frame.m_old === null ? "−∞" : figure(frame.m_old)}, `;
  return `max(${old}${inside}) = *${figure(frame.m)}*`;
}

/** @param {string} view @param {Frame} frame @param {boolean} open @param {Record<string, string>} words */
function ofFactor(view, frame, open, words) {
  if (view === "three") return words.none_three;
  if (frame.kind === "own_max" || frame.kind === "own_sum") return words.none_alone;
  if (frame.kind === "start" || frame.kind === "arrive") return "";
  if (frame.factor === null) return words.none_first;
  if (frame.kind === "max" || frame.kind === "meet" || open) return "?";
  const text = `${power(frame.m_old, frame.m)} = *${figure(frame.factor)}*`;
  return frame.factor_in === null ? text : `${text}    ${power(frame.m_in, frame.m)} = *${figure(frame.factor_in)}*`;
}

/** @param {Frame} frame @param {boolean} open @param {string} old @param {string} fresh @param {string} sum */
function twoParts(frame, open, old, fresh, sum) {
  const [mine, theirs] = open ? ["?", "?"] : [figure(frame.factor), figure(frame.factor_in)];
  if (frame.kind === "join") return `${mine} · ${old} + ${theirs} · ${fresh} = *${sum}*`;
  return `${mine} · ${old}    ${theirs} · ${fresh}`;
}

/** @param {Run} run @param {Frame} frame @param {string} v */
function newTerms(run, frame, v) {
  const m = signed(frame.m);
  if (frame.stop - frame.start > (v ? 2 : 3)) return `Σ e^(x − ${m})${v}`;
  return run.x.slice(frame.start, frame.stop)
    .map((value, i) => `e^(${figure(value)} − ${m})${v ? ` · ${vector(run.v[frame.start + i])}` : ""}`).join(" + ");
}

/** @param {Run} run @param {Frame} frame @param {boolean} open */
function ofL(run, frame, open) {
  if (frame.kind === "meet") return `${figure(frame.l_old)}    ${figure(frame.l_in)}`;
  if (frame.l === null) return "0";
  if (["arrive", "max", "scan", "write", "done"].includes(frame.kind)) return `*${figure(frame.l)}*`;
  if (frame.factor_in !== null) return twoParts(frame, open, figure(frame.l_old), figure(frame.l_in), figure(frame.l));
  let old = frame.factor === null ? "" : `${open ? "?" : figure(frame.factor)} · ${figure(frame.l_old)}`;
  if (frame.kind === "correct") return open ? `${old} = ?` : `${old} = *${figure(frame.l)}*`;
  if (frame.kind === "sum" && frame.l_old !== null) old = figure(frame.l_old);
  return `${old ? `${old} + ` : ""}${newTerms(run, frame, "")} = *${figure(frame.l)}*`;
}

/** @param {Run} run @param {string} view @param {Frame} frame @param {boolean} open */
function ofAcc(run, view, frame, open) {
  if (frame.kind === "done" && view !== "three") return `${vector(frame.acc)} / ${figure(frame.l)} = *${vector(frame.out)}*`;
  if (frame.kind === "meet") return `${vector(frame.acc_old)}    ${vector(frame.acc_in)}`;
  if (frame.acc === null) return "0";
  if (frame.kind === "write") return `${frame.acc_old === null ? "" : `${vector(frame.acc_old)} + `}Σ p · v = *${vector(frame.acc)}*`;
  if (["arrive", "max", "done"].includes(frame.kind)) return `*${vector(frame.acc)}*`;
  if (frame.factor_in !== null) return twoParts(frame, open, vector(frame.acc_old), vector(frame.acc_in), vector(frame.acc));
  const old = frame.factor === null ? "" : `${open ? "?" : figure(frame.factor)} · ${vector(frame.acc_old)}`;
  if (frame.kind === "correct") return open ? `${old} = ?` : `${old} = *${vector(frame.acc)}*`;
  return `${old ? `${old} + ` : ""}${newTerms(run, frame, " · v")} = *${vector(frame.acc)}*`;
}

/** @param {Frame} frame */
function ofP(frame) {
  if (frame.kind !== "done" && frame.kind !== "write") return "";
  return `e^(x − ${signed(frame.m)}) / ${figure(frame.l)} = *${listed(frame.terms.filter((p) => p !== null).map(small))}*`;
}
