/* The reference of the API is drawn by Swagger UI, whose dark look is a class of <html>: it follows the theme. */
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");

function follow() {
  const theme = root.dataset.theme ?? (system.matches ? "dark" : "light");
  root.classList.toggle("dark-mode", theme === "dark");
}

follow();
new MutationObserver(follow).observe(root, { attributeFilter: ["data-theme"] });
system.addEventListener("change", follow);
