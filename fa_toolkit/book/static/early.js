// Before the first paint: the theme the reader chose, else the system's. Storage may be forbidden.
(() => {
  let asked = "auto";
  try { asked = localStorage.getItem("fa-book-theme") || "auto"; } catch {}
  const dark = asked === "dark" || (asked !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.jpThemeLight = String(!dark);
})();
