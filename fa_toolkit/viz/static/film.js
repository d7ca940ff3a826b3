// @ts-check
// A tape as a film: for every frame, what is on chip, which tile is worked on, what has been done.
// Everything is worked out once, so that a jump to any frame is a look-up.

export const NEVER = 1 << 30;
const WORK = 2;
const PER_TILE = ["s", "p", "alpha", "dp", "ds"];

/**
 * @typedef {ReturnType<typeof film>} Film
 * @param {any} head  names of the tape: steps, phases, tensors, names, lengths and blocks
 * @param {Record<string, any>} tape  its columns
 * @param {ArrayLike<number>} stop  events that have happened, per frame
 */
export function film(head, tape, stop) {
  const frames = stop.length;
  const width = head.names.length;
  const rows = Math.max(1, Math.ceil(head.lenQ / head.blockM));
  const cols = Math.max(1, Math.ceil(head.lenK / head.blockN));
  const tensor = (/** @type {string} */ name) => head.tensors.indexOf(name);
  const perTile = PER_TILE.map((name) => head.names.indexOf(name)).filter((i) => i >= 0);
  const keyed = new Set(["K", "V", "dK", "dV"].map(tensor));
  const chip = new Int32Array(frames * width).fill(-1);
  const loads = new Int32Array(frames * head.tensors.length).fill(-1);
  const storing = new Int32Array(frames * head.tensors.length).fill(-1);
  const tile = new Int32Array(frames).fill(-1);
  const phase = new Uint8Array(frames);
  const program = new Int32Array(frames).fill(-1);
  const moved = new Float64Array(frames * 2);
  const step = new Uint8Array(frames).fill(255);
  const doneAt = head.phases.map(() => new Int32Array(rows * cols).fill(NEVER));
  const bySplit = new Set(["O_parts", "lse_parts"].map(tensor));
  const storedAt = head.tensors.map((/** @type {string} */ _, /** @type {number} */ t) =>
    new Int32Array(bySplit.has(t) ? head.splits : keyed.has(t) ? cols : rows).fill(NEVER));
  /** Which tile of its tensor an event touches. */
  const index = (/** @type {number} */ event) => {
    const t = tape.tensor[event];
    if (bySplit.has(t)) return tape.box[4 * event + 2];
    return Math.floor(tape.box[4 * event] / (keyed.has(t) ? head.blockN : head.blockM));
  };

  const nowChip = new Int32Array(width).fill(-1);
  const nowLoads = new Int32Array(head.tensors.length).fill(-1);
  let [place, atRow, atCol, read, written, worked] = ["", -1, -1, 0, 0, false];
  let event = 0;
  for (let frame = 0; frame < frames; frame++) {
    let onlyStores = event < stop[frame];
    for (; event < stop[frame]; event++) {
      const kind = tape.kind[event];
      const here = `${tape.phase[event]}/${tape.program[event]}`;
      if (here !== place) {
        nowChip.fill(-1);
        nowLoads.fill(-1);
        [place, atRow, atCol, worked] = [here, -1, -1, false];
      }
      const box = tape.box.subarray(4 * event, 4 * event + 4);
      const t = tape.tensor[event];
      const name = head.tensors[t];
      if (kind !== 1) onlyStores = false;
      if (kind === 0) {
        if (worked) for (const gone of perTile) nowChip[gone] = -1;
        worked = false;
        nowLoads[t] = event;
        if (name === "Q") atRow = Math.floor(box[0] / head.blockM);
        if (name === "K") atCol = Math.floor(box[0] / head.blockN);
        read += tape.bytes[event];
      } else if (kind === 1) {
        const i = index(event);
        storedAt[t][i] = Math.min(storedAt[t][i], frame);
        storing[frame * head.tensors.length + t] = i;
        written += tape.bytes[event];
      } else {
        worked = true;
        if (box[3] > box[2] && head.phases[tape.phase[event]] !== "merge") {
          atRow = Math.floor(box[0] / head.blockM);
          atCol = Math.floor(box[2] / head.blockN);
        }
      }
      for (let v = tape.value_at[event]; v < tape.value_at[event + 1]; v++) nowChip[tape.value_name[v]] = v;
    }
    if (onlyStores) {
      for (const gone of [...perTile, head.names.indexOf("k"), head.names.indexOf("v")]) if (gone >= 0) nowChip[gone] = -1;
      for (const gone of [tensor("K"), tensor("V")]) if (gone >= 0) nowLoads[gone] = -1;
    }
    const lastEvent = event - 1;
    if (lastEvent >= 0) {
      phase[frame] = tape.phase[lastEvent];
      program[frame] = tape.program[lastEvent];
      step[frame] = tape.step[lastEvent];
    }
    if (!onlyStores && atRow >= 0 && atCol >= 0 && frame > 0) {
      tile[frame] = atRow * cols + atCol;
      doneAt[phase[frame]][tile[frame]] = frame;
    }
    chip.set(nowChip, frame * width);
    loads.set(nowLoads, frame * head.tensors.length);
    moved.set([read, written], frame * 2);
  }
  const ranges = valueRanges(head, tape);
  const split = head.phases.indexOf("split"); // a merge works on no tile: it shows what the splits did

  return {
    frames, rows, cols, stop, tile, phase, program, moved, step, doneAt, storedAt, ranges,
    /**
     * Entry of a value at a frame, or null.
     * @param {number} frame
     * @param {string} name
     */
    value(frame, name) {
      const n = head.names.indexOf(name);
      const entry = n < 0 ? -1 : chip[frame * width + n];
      if (entry < 0) return null;
      const [r, c] = [tape.value_shape[2 * entry], tape.value_shape[2 * entry + 1]];
      const from = tape.value_start[entry];
      return { rows: r, cols: c, data: tape.pool.subarray(from, from + r * c) };
    },
    /**
     * The same value before a frame, in the same program.
     * @param {number} frame
     * @param {string} name
     */
    before(frame, name) {
      const same = frame > 0 && program[frame] === program[frame - 1] && phase[frame] === phase[frame - 1];
      return same ? this.value(frame - 1, name) : null;
    },
    /**
     * Tile of a tensor that is on chip, or -1.
     * @param {number} frame
     * @param {string} name
     */
    loaded(frame, name) {
      const t = tensor(name);
      const found = t < 0 ? -1 : loads[frame * head.tensors.length + t];
      return found < 0 ? -1 : index(found);
    },
    /**
     * For every tile, the last frame that works on it, as seen from a frame.
     * @param {number} frame
     */
    done(frame) {
      return doneAt[head.phases[phase[frame]] === "merge" ? split : phase[frame]];
    },
    /**
     * The tile of a tensor that a frame stores, or -1.
     * @param {number} frame
     * @param {string} name
     */
    storing(frame, name) {
      const t = tensor(name);
      return t < 0 ? -1 : storing[frame * head.tensors.length + t];
    },
    /**
     * Frame in which a tile of a tensor was stored first.
     * @param {string} name
     * @param {number} index
     */
    stored(name, index) {
      const t = tensor(name);
      return t < 0 ? NEVER : storedAt[t][index];
    },
    /** First frames of programs, for the scrubber. */
    starts() {
      const found = [];
      for (let f = 1; f < frames; f++) {
        if (program[f] !== program[f - 1] || phase[f] !== phase[f - 1]) found.push(f);
      }
      return found;
    },
  };
}

/**
 * Lowest and highest finite number of every name, over the whole tape: colours mean the same all along.
 * @param {any} head
 * @param {Record<string, any>} tape
 * @returns {Record<string, [number, number]>}
 */
function valueRanges(head, tape) {
  /** @type {Record<string, [number, number]>} */
  const found = {};
  for (let v = 0; v < tape.value_name.length; v++) {
    const name = head.names[tape.value_name[v]];
    const range = (found[name] ??= [Infinity, -Infinity]);
    const from = tape.value_start[v];
    const to = from + tape.value_shape[2 * v] * tape.value_shape[2 * v + 1];
    for (let i = from; i < to; i++) {
      const x = tape.pool[i];
      if (!Number.isFinite(x)) continue;
      if (x < range[0]) range[0] = x;
      if (x > range[1]) range[1] = x;
    }
  }
  if (found.p) found.p[0] = 0;
  if (found.l) found.l[0] = 0;
  return found;
}
