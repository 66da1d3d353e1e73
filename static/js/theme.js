/* Light, dark, or as the system says (nothing stored). Runs before anything is shown, so that the wrong one
   never flashes. */
{
  const KEY = "whystop-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  const stored = () => {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the system decides
    }
  };

  const store = (theme) => {
    try {
      theme ? localStorage.setItem(KEY, theme) : localStorage.removeItem(KEY);
    } catch {
      // The choice holds for this page only.
    }
  };

  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

  function show(theme) {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    for (const button of document.querySelectorAll("[data-theme-toggle]")) button.setAttribute("aria-pressed", isDark());
  }

  function toggle() {
    const wanted = isDark() ? "light" : "dark";
    const bySystem = (wanted === "dark") === system.matches;
    store(bySystem ? null : wanted);
    show(bySystem ? null : wanted);
  }

  show(stored());
  document.addEventListener("DOMContentLoaded", () => show(stored()));
  document.addEventListener("click", (event) => event.target.closest("[data-theme-toggle]") && toggle());
  system.addEventListener("change", () => show(stored()));
  addEventListener("storage", (event) => event.key === KEY && show(stored()));
}
