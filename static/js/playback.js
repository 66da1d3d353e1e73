/* Plays the steps at the speed they were recorded, or faster; long pauses are shortened. */
const LONGEST = 2000; // ms; nobody watches a backoff of a minute
const SHORTEST = 90; // ms; several transitions of one instant are still seen one by one
const INSTANT = 40; // ms
let timer = 0;

export const isPlaying = () => timer !== 0;

export function stop(show) {
  clearTimeout(timer);
  timer = 0;
  show(false);
}

/* `next()` steps and says whether there is more; `seconds()` is the time from the step shown to the one after. */
export function play({ next, seconds, speed, show }) {
  const wait = () => (speed() ? Math.max(SHORTEST, Math.min(LONGEST, (1000 * seconds()) / speed())) : INSTANT);
  const tick = () => {
    if (next()) timer = setTimeout(tick, wait());
    else stop(show);
  };
  show(true);
  timer = setTimeout(tick, wait());
}
