/* Which columns the list has: kept in this browser, said to the style sheet by <html data-columns>. Runs before
   the list is shown, so that no column comes and goes. */
{
  const KEY = "whystop-columns-2"; // 2: since how a turn ended is one column
  const root = document.documentElement;

  function stored() {
    try {
      return localStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the columns are the usual ones
    }
  }

  function show(columns) {
    if (columns !== null) root.dataset.columns = columns;
    for (const box of document.querySelectorAll("[data-columns] input")) {
      if (columns !== null) box.checked = columns.split(" ").includes(box.value);
    }
  }

  document.addEventListener("change", (event) => {
    const panel = event.target.closest("fieldset[data-columns]");
    if (!panel) return;
    event.stopPropagation(); // the columns are no filter
    const columns = [...panel.querySelectorAll("input:checked")].map((box) => box.value).join(" ");
    root.dataset.columns = columns;
    try {
      localStorage.setItem(KEY, columns);
    } catch {
      // The choice holds for this page only.
    }
  }, true);

  show(stored());
  document.addEventListener("DOMContentLoaded", () => show(stored()));
}
