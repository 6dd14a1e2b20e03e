/* Dark and light: the style decides what a color is, this tells which, and when it changes. */
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const listeners = [];

  /* Storage may be forbidden, as for pages that are files. */
  const stored = () => {
    try { return localStorage.getItem("fsage-theme"); } catch { return null; }
  };
  const store = (name) => {
    try { localStorage.setItem("fsage-theme", name); } catch { /* then it holds until the page is closed */ }
  };

  const theme = () => root.dataset.theme ?? (system.matches ? "dark" : "light");

  /* A variable of the style: `--target-0`; of one with two colors that of the theme, as a canvas wants it. */
  const probe = document.body.appendChild(document.createElement("span"));
  probe.hidden = true;
  const color = (name) => {
    const text = getComputedStyle(root).getPropertyValue(name).trim();
    if (!text.startsWith("light-dark(")) return text;
    probe.style.color = text;
    return getComputedStyle(probe).color;
  };

  /* Calls `listener` each time the theme has changed. */
  const onTheme = (listener) => listeners.push(listener);

  const button = document.getElementById("theme");
  const changed = () => {
    window.fsage.colors = Array.from({ length: 10 }, (_, i) => color(`--target-${i}`));
    const other = theme() === "dark" ? "Light" : "Dark";
    button.textContent = other;
    button.setAttribute("aria-label", `${other} colors`);
    for (const listener of listeners) listener(theme());
  };
  const setTheme = (name) => {
    root.dataset.theme = name;
    changed();
  };

  button.hidden = false;
  button.addEventListener("click", () => {
    setTheme(theme() === "dark" ? "light" : "dark");
    store(theme());
  });
  system.addEventListener("change", changed);

  if (["dark", "light"].includes(stored())) root.dataset.theme = stored();
  changed();
  Object.assign(window.fsage, { color, theme, onTheme, setTheme });
})();
