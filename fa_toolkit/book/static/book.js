// The switch of the theme, the language link, the contents on small screens, sliders over kept
// pictures, and the players. Loads nothing.

const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
const KEY = "fa-book-theme";

function chosenTheme() {
  try { return localStorage.getItem(KEY) || "auto"; } catch { return "auto"; }
}

function paintTheme(asked) {
  const dark = asked === "dark" || (asked !== "light" && system.matches);
  root.dataset.jpThemeLight = String(!dark);
}

function themeSwitch() {
  const label = document.querySelector(".bk-theme");
  const select = label?.querySelector("select");
  if (!label || !select) return;
  let asked = chosenTheme();
  label.hidden = false;
  select.value = asked;
  select.addEventListener("change", () => {
    asked = select.value;
    try { localStorage.setItem(KEY, asked); } catch { /* then it lasts as long as the page */ }
    paintTheme(asked);
  });
  system.addEventListener("change", () => paintTheme(asked));
  addEventListener("beforeprint", () => paintTheme("light"));
  addEventListener("afterprint", () => paintTheme(asked));
}

// The other language at the same cell: cells have one name in both.
function languageLink() {
  const link = document.querySelector(".bk-other");
  link?.addEventListener("click", () => {
    const cells = [...document.querySelectorAll(".bk-cell")];
    const here = cells.findLast((cell) => cell.getBoundingClientRect().top < 120);
    link.hash = here && scrollY > 200 ? here.id : "";
  });
}

// Open beside the text, closed above it on a small screen, open on paper.
function contentsList() {
  const list = document.querySelector(".bk-toc details");
  if (!list) return;
  const wide = matchMedia("(min-width: 1100px)");
  const fit = () => { list.open = wide.matches; };
  wide.addEventListener("change", fit);
  fit();
  const links = new Map([...list.querySelectorAll("a")].map((a) => [decodeURIComponent(a.hash.slice(1)), a]));
  const mark = () => {
    const heads = [...document.querySelectorAll(".bk-text :is(h2, h3)[id]")];
    const now = heads.findLast((head) => head.getBoundingClientRect().top < 140);
    for (const [id, a] of links) a.toggleAttribute("aria-current", id === now?.id);
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}

function openForPaper() {
  const closed = [];
  addEventListener("beforeprint", () => {
    for (const box of document.querySelectorAll("details:not([open])")) { box.open = true; closed.push(box); }
  });
  addEventListener("afterprint", () => { for (const box of closed.splice(0)) box.open = false; });
}

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function film(box) {
  const { controls, frames } = JSON.parse(box.querySelector("script").textContent);
  const picture = box.querySelector(".bk-film-picture");
  const at = controls.map((control) => control.at);
  controls.forEach((control, number) => {
    const value = element("output", {}, control.choices[at[number]]);
    const slider = element("input", {
      type: "range", min: "0", max: String(control.choices.length - 1), step: "1", value: String(at[number]),
      "aria-label": control.label, "aria-valuetext": control.choices[at[number]],
    });
    slider.addEventListener("input", () => {
      at[number] = Number(slider.value);
      value.textContent = control.choices[at[number]];
      slider.setAttribute("aria-valuetext", value.textContent);
      picture.innerHTML = frames[at.join(",")];
    });
    box.querySelector(".bk-film-controls").append(
      element("label", {}, element("span", {}, control.label), slider, value),
    );
  });
}

function play(box) {
  const widget = window.faPlayers?.[box.dataset.player];
  if (!widget) return;
  const state = JSON.parse(box.querySelector("script").textContent);
  const el = element("div", {});
  box.append(el);
  widget.render({ model: bareModel(state), el });
}

themeSwitch();
languageLink();
contentsList();
openForPaper();
for (const box of document.querySelectorAll(".bk-film")) film(box);
for (const box of document.querySelectorAll(".bk-player")) play(box);
// players have unfolded above the place the address names
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
root.dataset.bookReady = "true";
