/* Time that runs down: <time datetime data-deadline> says what is left of it. */
const SECOND = 1000;

function left(until) {
  const seconds = Math.max(0, Math.round((until - Date.now()) / SECOND));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const [h, min, s] = [`${hours}\u202fh`, `${minutes}\u202fmin`, `${seconds % 60}\u202fs`];
  return `${hours ? `${h} ${min}` : minutes ? `${min} ${s}` : s} left`;
}

function count() {
  for (const time of document.querySelectorAll("time[data-deadline]")) time.textContent = left(new Date(time.dateTime));
}

document.addEventListener("htmx:wsAfterMessage", count);
setInterval(count, SECOND);
count();
