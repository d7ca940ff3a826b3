// @ts-check
// Numbers as labels; the same strings as viz/numbers.py, and a test holds both to it.

const MINUS = "\u2212";

/**
 * `digits` significant digits, no exponent where it fits, a true minus sign.
 * @param {number} value
 * @param {number} [digits]
 * @returns {string}
 */
export function plain(value, digits = 3) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : `${MINUS}∞`;
  if (value === 0) return "0";
  const size = Math.abs(value);
  let text;
  if (size >= 10 ** digits) text = size < 1e6 ? grouped(size) : exponent(size, digits - 1);
  else if (size < 1e-4) text = exponent(size, digits - 1);
  else {
    text = precise(size, digits);
    if (text.includes("e")) text = grouped(size); // 999.7 rounds up to 1,000
    else if (text.includes(".")) text = text.replace(/\.?0+$/, "");
  }
  return (value < 0 ? MINUS : "") + text;
}

/**
 * Significant digits, ties to even as Python rounds; toPrecision takes the larger.
 * @param {number} size
 * @param {number} digits
 */
function precise(size, digits) {
  const scale = 10 ** (digits - 1 - Math.floor(Math.log10(size)));
  const scaled = size * scale;
  const tie = scaled - Math.floor(scaled) === 0.5 && Math.floor(scaled) % 2 === 0;
  return (tie ? Math.floor(scaled) / scale : size).toPrecision(digits);
}

/**
 * @param {number} value
 * @param {number} digits
 */
function exponent(value, digits) {
  return value.toExponential(digits).replace(/e([-+])(\d)$/, "e$10$2");
}

/**
 * The nearest whole number, ties to even as Python rounds.
 * @param {number} value
 */
function even(value) {
  const floor = Math.floor(value);
  return value - floor === 0.5 ? floor + (floor % 2) : Math.round(value);
}

/**
 * A whole number with commas.
 * @param {number} value
 */
function grouped(value) {
  return counted(even(value));
}

/**
 * A count in full, with commas.
 * @param {number} count
 */
export function counted(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/**
 * @param {number} value
 * @param {number} base
 * @param {string[]} units
 */
function scaled(value, base, units) {
  let step = 0;
  while (value >= base && step < units.length - 1) {
    value /= base;
    step += 1;
  }
  return `${step === 0 ? even(value) : plain(value, 4)} ${units[step]}`;
}

/**
 * Bytes in binary units.
 * @param {number} bytes
 */
export function amount(bytes) {
  return scaled(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
}

/**
 * Bytes in full while they are few, so that a reader can add them up.
 * @param {number} bytes
 */
export function weight(bytes) {
  return bytes < 10000 ? `${counted(bytes)} B` : amount(bytes);
}

/**
 * Per second, in decimal units.
 * @param {number} perSecond
 * @param {string} [unit]
 */
export function rate(perSecond, unit = "B/s") {
  return scaled(perSecond, 1000, ["", "k", "M", "G", "T", "P", "E"].map((p) => p + unit));
}

/**
 * Seconds in the unit that suits them.
 * @param {number} seconds
 */
export function duration(seconds) {
  for (const [unit, size] of /** @type {[string, number][]} */ ([["s", 1], ["ms", 1e-3], ["µs", 1e-6]])) {
    if (seconds >= size) return `${plain(seconds / size)} ${unit}`;
  }
  return `${plain(seconds / 1e-9)} ns`;
}

/**
 * A number as it stands after a minus sign.
 * @param {number} value
 * @param {number} [digits]
 */
export function subtrahend(value, digits = 3) {
  const text = plain(value, digits);
  return text.startsWith(MINUS) ? `(${text})` : text;
}

/**
 * A template with {0}, {1} … replaced by numbers as labels.
 * @param {string} template
 * @param {ArrayLike<number>} numbers
 */
export function filled(template, numbers) {
  return template.replace(/\{(\d)\}/g, (_, index) => plain(numbers[Number(index)]));
}
