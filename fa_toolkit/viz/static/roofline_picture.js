// @ts-check
// A GPU's two ceilings and the points of algorithms under them, on log scales. Draws only.
import { fill, svg } from "./dom.js";
import { plain, rate } from "./numbers.js";

const ROOF = { width: 470, height: 372, left: 58, right: 14, top: 30, bottom: 46 };

/**
 * @typedef {{ name: string, x: number, y: number, shape: "square" | "disc" | "triangle", small?: boolean, now?: boolean, below?: boolean }} Spot
 * @typedef {{ gpu: { peak: number, bandwidth: number, name: string }, spots: Spot[], low: number, high: number }} Roof
 */
export function roofPicture() {
  const root = svg("svg", { viewBox: `0 0 ${ROOF.width} ${ROOF.height}`, class: "fa-roof", role: "img" });
  return {
    root,
    /**
     * @param {Roof} roof
     * @param {Record<string, string>} words
     */
    draw({ gpu, spots, low, high }, words) {
      const [floor, sky] = [(gpu.bandwidth * low) / 2, gpu.peak * 2.2];
      const wide = ROOF.width - ROOF.left - ROOF.right;
      const tall = ROOF.height - ROOF.top - ROOF.bottom;
      const x = (/** @type {number} */ value) => ROOF.left + (wide * Math.log(value / low)) / Math.log(high / low);
      const y = (/** @type {number} */ value) => ROOF.top + tall * (1 - Math.log(value / floor) / Math.log(sky / floor));
      const ridge = gpu.peak / gpu.bandwidth;
      const bottom = ROOF.height - ROOF.bottom;
      const parts = [svg("text", { x: 0, y: 12 }, words.y)];
      for (let power = Math.ceil(Math.log10(floor)); 10 ** power <= sky; power++) {
        parts.push(svg("path", { d: `M${ROOF.left} ${y(10 ** power)}H${ROOF.width - ROOF.right}`, class: "fa-roof-grid" }));
        parts.push(svg("text", { x: ROOF.left - 8, y: y(10 ** power) + 4, "text-anchor": "end" }, rate(10 ** power, "").trim()));
      }
      for (let power = Math.ceil(Math.log10(low)); 10 ** power <= high; power++) {
        parts.push(svg("text", { x: x(10 ** power), y: bottom + 18, "text-anchor": "middle" }, plain(10 ** power, 4)));
      }
      parts.push(
        svg("text", { x: ROOF.left, y: ROOF.height - 6 }, words.x),
        svg("path", { d: `M${x(ridge)} ${y(gpu.peak)}V${bottom}`, class: "fa-roof-ridge" }),
        svg("text", { x: x(ridge) - 6, y: bottom - 8, "text-anchor": "end" }, fill(words.needed, { x: plain(ridge) })),
        svg("path", { d: `M${x(low)} ${y(gpu.bandwidth * low)}L${x(ridge)} ${y(gpu.peak)}H${x(high)}`, class: "fa-roof-line" }),
        svg("text", { x: x(high), y: y(gpu.peak) - 8, "text-anchor": "end", class: "fa-number" }, rate(gpu.peak, "FLOP/s")),
        slope(gpu, x, y, low, ridge),
        ...spots.flatMap((spot) => spotMark(spot, x(spot.x), y(spot.y))),
      );
      root.replaceChildren(...parts);
    },
  };
}

/**
 * The bandwidth, written along the slope.
 * @param {{ bandwidth: number }} gpu
 * @param {(value: number) => number} x
 * @param {(value: number) => number} y
 * @param {number} low
 * @param {number} ridge
 */
function slope(gpu, x, y, low, ridge) {
  const from = [x(low), y(gpu.bandwidth * low)];
  const to = [x(ridge), y(gpu.bandwidth * ridge)];
  const angle = (Math.atan2(to[1] - from[1], to[0] - from[0]) * 180) / Math.PI;
  const at = [from[0] + 0.3 * (to[0] - from[0]), from[1] + 0.3 * (to[1] - from[1]) - 8];
  return svg("text", { x: at[0], y: at[1], transform: `rotate(${angle} ${at[0]} ${at[1]})`, class: "fa-number" }, rate(gpu.bandwidth));
}

/**
 * A point and its name.
 * @param {Spot} spot
 * @param {number} x
 * @param {number} y
 */
function spotMark(spot, x, y) {
  const r = spot.small ? 2.2 : 6;
  const shapes = {
    disc: `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
    square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    triangle: `M${x} ${y - r - 1}l${r + 1} ${2 * r}h${-2 * (r + 1)}Z`,
  };
  const point = svg("path", { d: shapes[spot.shape], class: spot.small ? "fa-roof-small" : spot.now ? "fa-roof-now" : "fa-roof-spot" });
  if (spot.small) return [point];
  const label = svg("text", spot.below
    ? { x: x + 10, y: y + 26, "text-anchor": "start", class: spot.now ? "fa-number fa-now" : "fa-number" }
    : { x: x + 12, y: y + 18, "text-anchor": "start", class: spot.now ? "fa-number fa-now" : "fa-number" }, spot.name);
  return [point, label];
}
