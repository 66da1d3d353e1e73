/* Time that runs down: <time datetime data-deadline> says what is left of it. */
const SECOND = 1000;

function left(until) {
  const seconds = Math.max(0, Math.round((until - Date.now()) / SECOND));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (number) => `${number}`.padStart(2, "0");
  return `${hours ? `${hours}:${two(minutes)}` : minutes}:${two(seconds % 60)} left`;
}

function count() {
  for (const time of document.querySelectorAll("time[data-deadline]")) time.textContent = left(new Date(time.dateTime));
}

document.addEventListener("htmx:wsAfterMessage", count);
setInterval(count, SECOND);
count();
