/* Buttons of the page. */
(() => {
  for (const button of document.querySelectorAll("button.copy")) {
    button.hidden = false;
    button.addEventListener("click", () => navigator.clipboard.writeText(button.previousElementSibling.textContent));
  }
})();
