// @ts-check
// Two walks on one clock. The clock counts bytes: who has fewer to move is done earlier.

/** @typedef {import("./walk.js").Walk} Walk */

/**
 * Bytes moved before each event, and after the last.
 * @param {Walk} walk
 */
export function cumulative(walk) {
  const sum = new Float64Array(walk.bytes.length + 1);
  for (let i = 0; i < walk.bytes.length; i++) sum[i + 1] = sum[i] + walk.bytes[i];
  return sum;
}

/**
 * Events after which a step ends: at the end of every program, or of every tile (one store, or the
 * loads up to the next row or column of tiles).
 * @param {Walk} walk
 * @param {"programs" | "tiles"} detail
 */
export function edges(walk, detail) {
  const count = walk.bytes.length;
  const ends = [];
  let seen = new Set();
  for (let i = 0; i < count; i++) {
    const over = i > 0 && (walk.program[i] !== walk.program[i - 1] || walk.phase[i] !== walk.phase[i - 1]);
    // a tensor that is loaded once more begins the next tile
    const again = detail === "tiles" && walk.kind[i] === 0 && seen.has(walk.tensor[i]);
    if (over || again) {
      ends.push(i);
      seen = new Set();
    }
    if (walk.kind[i] === 0) seen.add(walk.tensor[i]);
  }
  return count ? [...ends, count] : ends;
}

/**
 * @param {Walk[]} walks
 * @param {"programs" | "tiles"} detail
 */
export function race(walks, detail) {
  const sums = walks.map(cumulative);
  const totals = sums.map((sum) => sum[sum.length - 1]);
  const leader = totals.indexOf(Math.max(...totals));
  const ends = [0, ...edges(walks[leader], detail)];
  const at = walks.map((_, w) => new Int32Array(ends.length));
  ends.forEach((end, frame) => {
    const clock = sums[leader][end];
    walks.forEach((_, w) => {
      if (w === leader) return void (at[w][frame] = end);
      let next = frame ? at[w][frame - 1] : 0;
      while (next + 1 < sums[w].length && sums[w][next + 1] <= clock) next += 1;
      at[w][frame] = next;
    });
  });
  const phases = walks.map((walk) => walk.phase);
  return {
    leader,
    totals,
    frames: ends.length,
    at,
    /**
     * Bytes walk `w` has moved at a frame.
     * @param {number} w
     * @param {number} frame
     */
    moved: (w, frame) => sums[w][at[w][frame]],
    /** First frames of the leader's phases. */
    starts() {
      const found = [];
      for (let f = 1; f < ends.length; f++) {
        const phase = phases[leader][ends[f] - 1];
        if (f === 1 || phase !== phases[leader][ends[f - 1] - 1]) found.push(f);
      }
      return found;
    },
  };
}

/**
 * Bytes by tensor, read and written, before event `stop`; and by phase.
 * @param {Walk} walk
 * @param {number} count  how many tensors there are
 */
export function bills(walk, count) {
  const events = walk.bytes.length;
  const sums = new Float64Array((events + 1) * count * 2);
  for (let i = 0; i < events; i++) {
    const [from, to] = [i * count * 2, (i + 1) * count * 2];
    sums.copyWithin(to, from, to);
    sums[to + 2 * walk.tensor[i] + walk.kind[i]] += walk.bytes[i];
  }
  return {
    /**
     * @param {number} stop
     * @param {number} tensor
     * @param {0 | 1} way
     */
    of: (stop, tensor, way) => sums[stop * count * 2 + 2 * tensor + way],
  };
}
