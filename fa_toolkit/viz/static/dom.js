// @ts-check
// Small helpers to build HTML and SVG. No state, no knowledge of any widget.

const SVG_NS = "http://www.w3.org/2000/svg";

/**
 * An HTML element with attributes and children.
 * @param {string} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElement}
 */
export function html(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/**
 * An SVG element with attributes.
 * @param {string} tag
 * @param {Record<string, string | number>} [attributes]
 * @param {string} [text]
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, text = "") {
  const element = document.createElementNS(SVG_NS, tag);
  set(element, attributes);
  if (text) element.textContent = text;
  return element;
}

/**
 * Set attributes; "y" and "height" go through CSS so that they can move smoothly.
 * @param {SVGElement} element
 * @param {Record<string, string | number>} attributes
 */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, String(value));
    if (name === "y" || name === "height") element.style.setProperty(name, `${value}px`);
  }
}

/**
 * Split "a *b* c" into pieces; the marked ones are live numbers.
 * @param {string} text
 * @returns {{text: string, live: boolean}[]}
 */
export function pieces(text) {
  return text
    .split("*")
    .map((part, index) => ({ text: part, live: index % 2 === 1 }))
    .filter((part) => part.text !== "");
}

/**
 * Show "a *b* c" inside an element, b emphasised.
 * @param {Element} element
 * @param {string} text
 */
export function mark(element, text) {
  element.replaceChildren(
    ...pieces(text).map((part) => (part.live ? html("em", {}, part.text) : part.text)),
  );
}

/**
 * Fill "{name}" fields of a template.
 * @param {string} template
 * @param {Record<string, string | number>} fields
 */
export function fill(template, fields) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => String(fields[name] ?? whole));
}
