/* Dark and light: the style decides what a color is, this tells which, and when it changes. */
(() => {
  const listeners = [];
  const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colors = () => Array.from({ length: 10 }, (_, i) => color(`--target-${i}`));
  const theme = () => document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const onTheme = (listener) => listeners.push(listener);
  Object.assign(window.fsage, { color, theme, onTheme, colors: colors() });
})();
