/* Which columns the list has: kept in this browser, said to the style sheet by <html data-columns>. Runs before
   the list is shown, so that no column comes and goes. */
{
  const KEY = "whystop-columns-2"; // 2: since how a turn ended is one column
  const root = document.documentElement;
  /* What the style sheet shows of the usual columns where there is little room. */
  const NARROW = [
    ["(width <= 900px)", "ended limit cost age"],
    ["(width <= 1160px)", "ended limit took age"],
  ];

  const narrow = () => NARROW.find(([query]) => matchMedia(query).matches);
  /* What is chosen where there is little room holds there alone: a wide window keeps its own columns. */
  const key = () => KEY + (narrow()?.[0] ?? "");

  function stored() {
    try {
      return localStorage.getItem(key()) ?? localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the columns are the usual ones
    }
  }

  function show(columns) {
    if (columns === null) delete root.dataset.columns;
    else root.dataset.columns = columns;
    const usual = narrow()?.[1];
    for (const box of document.querySelectorAll("fieldset[data-columns] input")) {
      box.checked = (columns ?? usual)?.split(" ").includes(box.value) ?? box.defaultChecked;
    }
  }

  document.addEventListener("change", (event) => {
    const panel = event.target.closest("fieldset[data-columns]");
    if (!panel) return;
    event.stopPropagation(); // the columns are no filter
    const columns = [...panel.querySelectorAll("input:checked")].map((box) => box.value).join(" ");
    root.dataset.columns = columns;
    try {
      localStorage.setItem(key(), columns);
    } catch {
      // The choice holds for this page only.
    }
  }, true);

  show(stored());
  document.addEventListener("DOMContentLoaded", () => show(stored()));
  for (const [query] of NARROW) matchMedia(query).addEventListener("change", () => show(stored()));
}
