/* Keeps "12 s" and "4 min" right: <time datetime data-age>. */
const UNITS = [[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]];

function refresh() {
  for (const time of document.querySelectorAll("time[data-age]")) {
    const passed = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
    const [length, unit] = UNITS.find(([length]) => passed >= length) ?? [1, "s"];
    const words = `${Math.floor(passed / length)}\u202f${unit}`;
    if (time.textContent !== words) time.textContent = words;
  }
}

setInterval(refresh, 1000);
