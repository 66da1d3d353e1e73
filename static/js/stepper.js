/* Steps through the transitions of a turn. Everything is on the page already: a step fills the panel and the deck, and
   marks what is past, now or yet to come. `whystop:step` tells other modules where one is. */
import { read } from "./steps_json.js";
import { fill, knowKeys } from "./template_fill.js";
import * as machine from "./machine.js";
import * as rail from "./rail.js";
import * as transcript from "./transcript.js";
import { isPlaying, play, stop } from "./playback.js";
import { copy } from "./copy_text.js";

const MOVES = { first: () => 1, back: (now) => now - 1, forward: (now) => now + 1, last: (_, count) => count };
const ADDRESS = /^#t(\d+)$/;
const PAUSE = 250; // ms; browsers refuse an address that changes with every repeat of a held key

let steps = null; // what the page says of each
let now = 0;
let following = true; // at the last transition, and so at every new one
let speed = "1"; // how many times faster than recorded; 0: at once
let settling;

const turn = () => document.querySelector("[data-stepper]");
const deck = () => document.getElementById("deck");
export const count = () => steps?.count ?? 0;
export const state = () => (count() ? steps.move(now).state : "");

function draw() {
  const root = turn();
  const step = steps.step(now);
  fill(document.getElementById("step"), step);
  fill(deck(), step);
  deck().querySelector("[data-speed]").value = speed;
  machine.draw(root, steps, now);
  rail.draw(root, now);
  transcript.draw(now);
  for (const place of root.querySelectorAll("[data-now-number]")) place.textContent = now;
  for (const button of root.querySelectorAll("[data-go]")) {
    const target = MOVES[button.dataset.go](now, count());
    button.toggleAttribute("aria-disabled", target < 1 || target > count() || target === now);
  }
  document.dispatchEvent(new CustomEvent("whystop:step", { detail: { number: now } }));
}

/* What would be too much with every repeat of a held key: the address, and what is said aloud. */
function settle() {
  history.replaceState(history.state, "", `#t${now}`);
  document.getElementById("step-status").textContent = steps.step(now).sentence;
}

export function go(wanted) {
  const number = Math.max(1, Math.min(count(), wanted));
  if (!count() || number === now) return false;
  now = number;
  following = now === count();
  draw();
  clearTimeout(settling);
  settling = setTimeout(settle, PAUSE);
  return now < count();
}

function load() {
  const data = document.getElementById("steps");
  steps = data ? read(data.content.textContent) : null;
  if (steps) knowKeys(steps.keys);
  transcript.forget();
}

function start() {
  load();
  if (!count()) return;
  const asked = ADDRESS.exec(location.hash);
  now = Math.max(1, Math.min(asked ? Number(asked[1]) : Number(deck().dataset.now), count()));
  following = now === count();
  draw();
  transcript.complete(() => transcript.draw(now));
}

/* A live turn has grown: stay where one is, or go along with its end. */
function grown() {
  if (!deck()) return;
  load();
  if (!count()) return;
  if (following || !now) now = count();
  draw();
  show(isPlaying());
}

const show = (playing) => {
  const button = deck()?.querySelector("[data-play]");
  button?.setAttribute("aria-pressed", playing);
  button?.setAttribute("aria-label", playing ? "Pause" : "Play");
};
export const setSpeed = (wanted) => (speed = wanted);

export function move(name) {
  if (isPlaying()) stop(show);
  go(MOVES[name](now, count()));
}

export function togglePlaying() {
  if (isPlaying()) return stop(show);
  if (!count()) return undefined;
  if (now === count()) go(1);
  const seconds = () => (now < count() ? steps.seconds(now + 1) - steps.seconds(now) : 0);
  return play({ next: () => go(now + 1), seconds, speed: () => Number(speed), show });
}

export function copyAddress(button) {
  clearTimeout(settling);
  settle(); // now, or it would speak over what the copying says
  copy(`${location.origin}${turn().dataset.address ?? location.pathname}?step=${now}`, button);
}

export const enter = (name) => go(machine.entry(steps, name, now));

export function slideTo(track, clientX) {
  if (isPlaying()) stop(show);
  go(rail.nearest(track, clientX));
}

addEventListener("hashchange", () => go(Number(ADDRESS.exec(location.hash)?.[1] ?? now)));
document.addEventListener("htmx:wsAfterMessage", grown);
document.addEventListener("htmx:afterSettle", (event) => event.detail.target?.querySelector?.("#deck") && start());
start();
