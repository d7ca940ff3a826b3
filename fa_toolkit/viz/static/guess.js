// @ts-check
// Reads a reader's number ("0.135", "1/7", "13.5%", "e^(2-4)") and judges it. Never evaluates code.

/**
 * The value of a small arithmetic expression, or null if it is not one.
 * Grammar: + - * / ^, brackets, e, exp(...), a trailing %.
 * @param {string} text
 * @returns {number | null}
 */
export function readNumber(text) {
  const source = text
    .toLowerCase()
    .replace(/[−–—]/g, "-")
    .replace(/[×·∙]/g, "*")
    .replace(/÷/g, "/")
    .replace(/（|\{|\[/g, "(")
    .replace(/）|\}|\]/g, ")")
    .replace(/\*\*/g, "^")
    .replace(/\s+/g, "");
  const tokens = source.match(/\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|exp|e|[-+*/^()%]/g) ?? [];
  if (tokens.length === 0 || tokens.length > 60 || tokens.join("") !== source) return null;
  let at = 0;

  /** @returns {number} */
  function sum() {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-") {
      value = tokens[at++] === "+" ? value + product() : value - product();
    }
    return value;
  }
  /** @returns {number} */
  function product() {
    let value = signed();
    while (tokens[at] === "*" || tokens[at] === "/") {
      value = tokens[at++] === "*" ? value * signed() : value / signed();
    }
    return value;
  }
  /** @returns {number} */
  function signed() {
    if (tokens[at] === "-") return at++, -signed();
    if (tokens[at] === "+") return at++, signed();
    return power();
  }
  /** @returns {number} */
  function power() {
    let value = atom();
    while (tokens[at] === "%") at++, (value /= 100);
    return tokens[at] === "^" ? (at++, value ** signed()) : value;
  }
  /** @returns {number} */
  function atom() {
    const token = tokens[at++];
    if (token === "(") {
      const value = sum();
      return tokens[at++] === ")" ? value : NaN;
    }
    if (token === "exp") return tokens[at] === "(" ? Math.exp(atom()) : NaN;
    if (token === "e") return Math.E;
    return token !== undefined && /^[\d.]/.test(token) ? Number(token) : NaN;
  }

  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? value : null;
}

/**
 * How a guessed factor relates to the right one.
 * @param {number} guess
 * @param {number} factor
 * @returns {"right" | "difference" | "inverse" | "unchanged" | "other"}
 */
export function judge(guess, factor) {
  const near = (/** @type {number} */ a, /** @type {number} */ b) =>
    Math.abs(a - b) <= Math.max(0.01 * Math.abs(b), b > 0.02 ? 0.006 : 0);
  if (near(guess, factor)) return "right";
  const difference = Math.log(factor);
  if (factor !== 1 && (near(guess, -difference) || near(-guess, -difference))) return "difference";
  if (near(guess, 1 / factor)) return "inverse";
  if (guess === 1) return "unchanged";
  return "other";
}
