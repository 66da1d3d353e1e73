/* The rail of the stepper: dots and bars up to a step, and the step nearest to a pointer. */
const Y = 32;
const LENGTH = 1000;
let read = { text: "", places: [] };

export function places(track) {
  const text = track?.dataset.places ?? "";
  if (read.text !== text) read = { text, places: text.trim().split(/\s+/).map(Number) };
  return read.places;
}

const dots = (xs) => xs.map((x) => `M${x} ${Y}h.01`).join("");

export function draw(root, now) {
  const track = root.querySelector(".track");
  const xs = places(track);
  const here = xs[now - 1] ?? 0;
  const shape = (name, path) => track?.querySelector(`[data-${name}]`)?.setAttribute("d", path);
  shape("passed", `M0 ${Y}H${here}`);
  if (!track?.classList.contains("crowded")) shape("dots", dots(xs.slice(0, now)));
  shape("here", `M${here} ${Y}h.01`);
  shape("to-come", `M${here} 0H${LENGTH}V18H${here}z`);
  const range = track?.querySelector("input");
  if (range) range.value = now;
}

export function nearest(track, clientX) {
  const box = track.getBoundingClientRect();
  const x = (LENGTH * (clientX - box.left)) / box.width;
  const distances = places(track).map((place) => Math.abs(place - x));
  return distances.indexOf(Math.min(...distances)) + 1;
}
