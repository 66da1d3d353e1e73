/* Steps through the transitions of a turn. Everything is on the page already: this only marks what is past, now or yet
   to come (data-when), by the transitions an element names (data-from, data-until, data-at). */
const MOVES = {
  first: () => 1,
  back: (now) => now - 1,
  forward: (now) => now + 1,
  last: (_, count) => count,
};
const KEYS = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last", j: "forward", k: "back" };
const ADDRESS = /^#t(\d+)$/;
const PAUSE = 250; // ms; browsers refuse an address that changes with every repeat of a held key

let now = 0;
let following = true; // at the last transition, and so at every new one
let addressing;

const deck = () => document.getElementById("deck");
const count = () => Number(deck()?.dataset.count ?? 0);

function when(element) {
  const { at, from, until } = element.dataset;
  if (at !== undefined) {
    if (!at) return "future"; // never entered
    const numbers = at.split(" ").map(Number);
    if (numbers.includes(now)) return "now";
    return numbers[0] < now ? "past" : "future";
  }
  if (now < Number(from)) return "future";
  return until && now >= Number(until) ? "past" : "now";
}

function mark() {
  const root = document.querySelector("[data-stepper]");
  for (const element of root.querySelectorAll("[data-from], [data-at]")) {
    const mark = when(element);
    if (element.dataset.when !== mark) element.dataset.when = mark;
  }
  for (const place of root.querySelectorAll("[data-now-number]")) place.textContent = now;
  const range = root.querySelector(".track input");
  if (range) range.value = now;
  root.querySelector("[data-passed]")?.setAttribute("d", `M0 32H${places()[now - 1] ?? 0}`);
  for (const button of root.querySelectorAll("[data-go]")) {
    const target = MOVES[button.dataset.go](now, count());
    button.toggleAttribute("aria-disabled", target < 1 || target > count() || target === now);
  }
}

function go(wanted) {
  const number = Math.max(1, Math.min(count(), wanted));
  if (!count() || number === now) return;
  now = number;
  following = now === count();
  mark();
  clearTimeout(addressing);
  addressing = setTimeout(() => history.replaceState(history.state, "", `#t${now}`), PAUSE);
}

const places = () => document.querySelector(".track")?.dataset.places.trim().split(/\s+/).map(Number) ?? [];

function nearest(event) {
  const box = event.target.closest(".track").getBoundingClientRect();
  const x = (1000 * (event.clientX - box.left)) / box.width;
  const distances = places().map((place) => Math.abs(place - x));
  return distances.indexOf(Math.min(...distances)) + 1;
}

function start() {
  if (!deck()) return;
  const asked = ADDRESS.exec(location.hash);
  const last = count();
  now = Math.min(asked ? Number(asked[1]) : Number(deck().dataset.now), last);
  following = now === last;
  mark();
}

/* A live turn has grown: stay where one is, or go along with its end. */
function grown() {
  if (!deck()) return;
  if (following || !now) now = count();
  mark();
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-go]");
  if (button) go(MOVES[button.dataset.go](now, count()));
});
document.addEventListener("input", (event) => event.target.matches(".track input") && go(Number(event.target.value)));
document.addEventListener("pointerdown", (event) => {
  const track = event.target.closest?.(".track");
  if (!track) return;
  track.setPointerCapture(event.pointerId);
  go(nearest(event));
  track.querySelector("input").focus({ preventScroll: true });
  event.preventDefault();
});
document.addEventListener("pointermove", (event) => {
  if (event.target.hasPointerCapture?.(event.pointerId) && event.target.closest(".track")) go(nearest(event));
});
document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select, pre, [contenteditable]");
  if (typing || event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS) || !count()) return;
  event.preventDefault();
  go(MOVES[KEYS[event.key]](now, count()));
});
addEventListener("hashchange", () => go(Number(ADDRESS.exec(location.hash)?.[1] ?? now)));
document.addEventListener("htmx:wsAfterMessage", grown);
document.addEventListener("htmx:afterSettle", (event) => event.detail.target?.querySelector?.("#deck") && start());
start();
