// @ts-check
// Where a tensor fits on the levels of a GPU and how long one pass takes. Draws nothing; the same as
// viz/memory_levels/levels.py, and a test holds both to it.

/**
 * Bytes of a tensor to choose.
 * @param {{ itemsize: number, tileRows: number, heads: number }} head
 * @param {string} what
 * @param {number} n
 * @param {number} d
 * @returns {number}
 */
export function tensorBytes(head, what, n, d) {
  const elements = { q: head.tileRows * d, k: n * d, s: n * n, heads: head.heads * n * n };
  return elements[/** @type {keyof typeof elements} */ (what)] * head.itemsize;
}

/**
 * One GPU's figures by level; nan where none is published.
 * @param {Record<string, any>} data
 * @param {number} gpu
 * @param {number} count  levels
 */
export function figuresOf(data, gpu, count) {
  const row = (/** @type {string} */ name) => Array.from(data[name].slice(gpu * count, (gpu + 1) * count), Number);
  return { bytes: row("bytes"), each: row("each"), bandwidth: row("bandwidth"), latency: row("latency"), measured: row("measured") };
}

/**
 * The nearest level that holds it, how much too small the others are, and the time of a pass.
 * The last level is the host, which holds everything.
 * @param {{ bytes: number[], bandwidth: number[] }} figures
 * @param {number} size
 */
export function placed(figures, size) {
  const last = figures.bytes.length - 1;
  const holds = figures.bytes.map((bytes, i) => i === last || bytes >= size);
  return {
    holds,
    first: holds.indexOf(true),
    short: figures.bytes.map((bytes) => size / bytes),
    seconds: figures.bandwidth.map((bandwidth) => size / bandwidth),
  };
}

/**
 * A share between 0 and 1 of an axis from `low` to `high`; from zero if it is linear.
 * @param {number} value
 * @param {[number, number]} range
 * @param {boolean} linear
 */
export function share(value, range, linear) {
  const at = linear ? value / range[1] : Math.log(value / range[0]) / Math.log(range[1] / range[0]);
  return Math.min(1, Math.max(0, at));
}
