// @ts-check
// The loads and stores of standard and Flash Attention's forward pass, for any sizes, in the browser.
// It repeats what tiled/ does when traced, and a test holds every event of both to each other.

export const TENSORS = ["Q", "K", "V", "S", "P", "O", "lse", "m", "l"];
const STATISTIC = 4; // bytes of a float32, whatever the tensors are

/**
 * @typedef {{ lenQ: number, lenK: number, d: number, blockM: number, blockN: number, causal: boolean, itemsize: number }} Sizes
 * @typedef {{ phases: string[], phase: number[], program: number[], kind: number[], tensor: number[], box: number[], bytes: number[] }} Walk
 *   kind: 0 load, 1 store; box: four numbers an event
 */

/**
 * Tiles [start, stop) of `length`.
 * @param {number} length
 * @param {number} block
 * @returns {[number, number][]}
 */
export function spans(length, block) {
  return Array.from({ length: Math.ceil(length / block) }, (_, i) => [i * block, Math.min((i + 1) * block, length)]);
}

/**
 * Key tiles that a block of rows must visit: bottom-right causal.
 * @param {Sizes} sizes
 * @param {[number, number]} rows
 */
export function keySpans(sizes, rows) {
  const high = sizes.causal ? Math.min(sizes.lenK, Math.max(0, rows[1] + sizes.lenK - sizes.lenQ)) : sizes.lenK;
  return spans(sizes.lenK, sizes.blockN).filter(([start]) => start < high);
}

/**
 * Row tiles that can see a block of keys.
 * @param {Sizes} sizes
 * @param {[number, number]} keys
 */
export function rowSpans(sizes, keys) {
  const low = sizes.causal ? Math.max(0, keys[0] - (sizes.lenK - sizes.lenQ)) : 0;
  return spans(sizes.lenQ, sizes.blockM).filter(([, stop]) => stop > low);
}

/** @param {string[]} phases */
function writer(phases) {
  /** @type {Walk} */
  const walk = { phases, phase: [], program: [], kind: [], tensor: [], box: [], bytes: [] };
  const note = (/** @type {number} */ kind) => (
    /** @type {string} */ phase, /** @type {number} */ program, /** @type {string} */ tensor,
    /** @type {[number, number]} */ rows, /** @type {[number, number]} */ cols, /** @type {number} */ itemsize,
  ) => {
    walk.phase.push(phases.indexOf(phase));
    walk.program.push(program);
    walk.kind.push(kind);
    walk.tensor.push(TENSORS.indexOf(tensor));
    walk.box.push(rows[0], rows[1], cols[0], cols[1]);
    walk.bytes.push((rows[1] - rows[0]) * (cols[1] - cols[0]) * itemsize);
  };
  return { walk, load: note(0), store: note(1) };
}

/**
 * Three launches; the mask skips nothing.
 * @param {Sizes} sizes
 */
export function standardWalk(sizes) {
  const { walk, load, store } = writer(["scores", "softmax", "output"]);
  const { d, itemsize: e } = sizes;
  const rows = spans(sizes.lenQ, sizes.blockM);
  const keys = spans(sizes.lenK, sizes.blockN);
  const wide = /** @type {[number, number]} */ ([0, d]);
  rows.forEach((r, i) => {
    load("scores", i, "Q", r, wide, e);
    for (const c of keys) load("scores", i, "K", c, wide, e), store("scores", i, "S", r, c, e);
  });
  rows.forEach((r, i) => {
    load("softmax", i, "S", r, [0, sizes.lenK], e);
    store("softmax", i, "P", r, [0, sizes.lenK], e);
  });
  rows.forEach((r, i) => {
    for (const c of keys) load("output", i, "P", r, c, e), load("output", i, "V", c, wide, e);
    store("output", i, "O", r, wide, e);
  });
  return walk;
}

/**
 * One launch; a program keeps its rows and streams the keys past (FlashAttention-2).
 * @param {Sizes} sizes
 */
export function flashWalk(sizes) {
  const { walk, load, store } = writer(["forward"]);
  const { d, itemsize: e } = sizes;
  spans(sizes.lenQ, sizes.blockM).forEach((r, i) => {
    load("forward", i, "Q", r, [0, d], e);
    for (const c of keySpans(sizes, r)) load("forward", i, "K", c, [0, d], e), load("forward", i, "V", c, [0, d], e);
    store("forward", i, "O", r, [0, d], e);
    store("forward", i, "lse", r, [0, 1], STATISTIC);
  });
  return walk;
}

/**
 * The first paper's order: keys outside, rows inside; O, m and l go out and back.
 * @param {Sizes} sizes
 */
export function firstFlashWalk(sizes) {
  const { walk, load, store } = writer(["init", "forward"]);
  const { d, itemsize: e } = sizes;
  const one = /** @type {[number, number]} */ ([0, 1]);
  spans(sizes.lenQ, sizes.blockM).forEach((r, i) => {
    store("init", i, "O", r, [0, d], e);
    for (const name of ["m", "l"]) store("init", i, name, r, one, STATISTIC);
  });
  spans(sizes.lenK, sizes.blockN).forEach((c, i) => {
    load("forward", i, "K", c, [0, d], e);
    load("forward", i, "V", c, [0, d], e);
    for (const r of rowSpans(sizes, c)) {
      load("forward", i, "Q", r, [0, d], e);
      load("forward", i, "O", r, [0, d], e);
      for (const name of ["m", "l"]) load("forward", i, name, r, one, STATISTIC);
      store("forward", i, "O", r, [0, d], e);
      for (const name of ["m", "l"]) store("forward", i, name, r, one, STATISTIC);
    }
  });
  return walk;
}

/**
 * Pairs (query, key) the mask lets through.
 * @param {Sizes} sizes
 */
export function visiblePairs(sizes) {
  if (!sizes.causal) return sizes.lenQ * sizes.lenK;
  let pairs = 0;
  for (let i = 0; i < sizes.lenQ; i++) pairs += Math.min(sizes.lenK, Math.max(0, i + 1 + sizes.lenK - sizes.lenQ));
  return pairs;
}
