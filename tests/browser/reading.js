// What cannot be read in the outputs on the page: lines that run out on the right, and text whose
// contrast with what lies behind it is below 4.5. Disabled controls may be faint.
() => {
  const found = new Set();
  const parse = (text) => {
    const parts = (text.match(/rgba?\(([^)]+)\)/) || ["", ""])[1].split(/[ ,/]+/).map(Number);
    return parts.length < 3 ? null : [...parts.slice(0, 3), parts[3] ?? 1];
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3]));
  const light = (colour) => {
    const [r, g, b] = colour.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour && colour[3] > 0) layers.push(colour);
      if (colour && colour[3] === 1) break;
    }
    return layers.reduceRight((under, colour) => over(colour, under), [255, 255, 255]);
  };
  const middle = (box) => [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
  // in a drawing: the rectangles drawn before the text that hold its middle
  const drawn = (text, picture, colour) => {
    const [x, y] = middle(text.getBoundingClientRect());
    for (const shape of picture.querySelectorAll("rect, text")) {
      if (shape === text) break;
      const box = shape.getBoundingClientRect();
      if (shape.tagName !== "rect" || box.left > x || box.right < x || box.top > y || box.bottom < y) continue;
      const style = getComputedStyle(shape);
      const fill = parse(style.fill);
      if (fill) colour = over([...fill.slice(0, 3), fill[3] * style.fillOpacity * style.opacity], colour);
    }
    return colour;
  };
  for (const element of document.querySelectorAll(".jp-OutputArea-output *")) {
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    const name = `${element.tagName.toLowerCase()}.${element.getAttribute("class")}`;
    if (!box.width) continue;
    if (/auto|scroll/.test(style.overflowX) && element.scrollWidth > element.clientWidth + 1) found.add(`runs out: ${name}`);
    const words = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    let shown = 1;
    for (let at = element; at; at = at.parentElement) shown *= +getComputedStyle(at).opacity;
    if (!words || style.visibility === "hidden" || shown < 0.05 || element.closest(":disabled")) continue;
    const picture = element.closest("svg");
    const ink = parse(picture ? style.fill : style.color);
    if (!ink || box.width < 2) continue;
    const ground = picture ? drawn(element, picture, behind(picture)) : behind(element);
    const [a, b] = [light(over([...ink.slice(0, 3), ink[3] * shown], ground)), light(ground)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(`faint, ${contrast.toFixed(1)}: ${name} ${words.slice(0, 30)}`);
  }
  return [...found];
}
