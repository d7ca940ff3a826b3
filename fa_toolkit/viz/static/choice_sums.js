// @ts-check
// Bytes, FLOPs and room on chip of a tile, in closed form. Draws nothing; the same as io_model and
// measured.Compiled, and a test holds both to it.

const STAT_BYTES = 4; // of a float32
const LANES = 32; // threads of a warp
const CHUNK = 256; // a warp gets registers in such steps

/** @typedef {{ lenQ: number, lenK: number, d: number, blockM: number, blockN: number, causal: boolean, itemsize: number }} Problem */

/**
 * FLOPs of the two products over the visible pairs; at least as many keys as queries.
 * @param {Problem} p
 */
export function flopsOf(p) {
  const pairs = p.causal ? p.lenQ * (p.lenK - p.lenQ) + (p.lenQ * (p.lenQ + 1)) / 2 : p.lenQ * p.lenK;
  return 4 * pairs * p.d;
}

/**
 * Bytes of Flash Attention's forward pass: every row tile reads the keys it can see.
 * @param {Problem} p
 */
export function flashBytes(p) {
  let keys = 0;
  for (let row = 0; row < p.lenQ; row += p.blockM) {
    const stop = Math.min(p.lenQ, row + p.blockM) + p.lenK - p.lenQ;
    const seen = p.causal ? Math.min(p.lenK, stop) : p.lenK;
    keys += Math.min(p.lenK, Math.ceil(seen / p.blockN) * p.blockN);
  }
  return (2 * keys * p.d + 2 * p.lenQ * p.d) * p.itemsize + p.lenQ * STAT_BYTES;
}

/**
 * Bytes of standard attention: K and V once a row tile, S and P out and back.
 * @param {Problem} p
 */
export function standardBytes(p) {
  const rows = Math.ceil(p.lenQ / p.blockM);
  return (2 * rows * p.lenK * p.d + 2 * p.lenQ * p.d + 4 * p.lenQ * p.lenK) * p.itemsize;
}

/**
 * @typedef {{ index: number, m: number, n: number, limit: number, bound: number, warps: number, registers: number, spills: number, shared: number, standard: boolean }} Kernel
 * The kernels of one GPU, head dimension and mask.
 * @param {Record<string, any>} data
 * @param {number} capability
 * @param {number} d
 * @param {boolean} causal
 * @returns {Kernel[]}
 */
export function kernelsOf(data, capability, d, causal) {
  const rows = [];
  for (let i = 0; i < data.block_m.length; i++) {
    if (data.capability[i] !== capability || data.head_dim[i] !== d || Boolean(data.causal[i]) !== causal) continue;
    rows.push({
      index: i, m: data.block_m[i], n: data.block_n[i], limit: data.limit[i], bound: data.bound[i], warps: data.warps[i],
      registers: data.registers[i], spills: data.spills[i], shared: data.shared[i], standard: Boolean(data.default[i]),
    });
  }
  return rows;
}

/**
 * Programs on one SM by each limit, and the least of them.
 * @param {Kernel} kernel
 * @param {{ sharedSm: number, sharedBlock: number, registers: number, warps: number }} gpu
 */
export function programsOf(kernel, gpu) {
  if (kernel.shared < 0) return { shared: 0, registers: 0, warps: 0, least: 0 };
  const each = Math.ceil((kernel.registers * LANES) / CHUNK) * CHUNK * kernel.warps;
  const shared = Math.floor(gpu.sharedSm / (kernel.shared + gpu.sharedSm - gpu.sharedBlock));
  const registers = Math.floor(gpu.registers / (4 * each));
  const warps = Math.floor(gpu.warps / kernel.warps);
  return { shared, registers, warps, least: Math.min(shared, registers, warps) };
}

/**
 * The most FLOP/s that an intensity allows.
 * @param {{ peak: number, bandwidth: number }} gpu
 * @param {number} intensity
 */
export function attainable(gpu, intensity) {
  return Math.min(gpu.peak, gpu.bandwidth * intensity);
}
