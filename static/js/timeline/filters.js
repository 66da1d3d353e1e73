/* Links that change filters (data-filters) fill the form instead of leaving the page; counts follow the list.
   data-filters="since until": only these are taken from the link's address; empty: all are. */
const form = document.getElementById("filters");
const LIVE_COUNTS = 5000; // ms between two counts while turns come in
let counting;
let asking = false; // for another list

htmx.config.historyCacheSize = 0; // back and forth are read from the address, never from a kept page
/* The address is named: a reload at this moment may be one of the page that is left. */
document.addEventListener("htmx:historyCacheMiss", (event) => {
  event.preventDefault();
  location.replace(event.detail.path);
});

const controls = (name) => [...form.elements].filter((control) => control.name === name);
const local = (value) => value.replace(/(\.\d+)?(Z|[+ ]00:00)?$/, "");

function set(name, values) {
  const left = new Set(values);
  for (const control of controls(name)) {
    if (control.type === "checkbox") {
      control.checked = left.delete(control.value);
    } else if (control.classList.contains("beside")) {
      control.remove();
    } else {
      control.value = control.type === "datetime-local" ? local(values[0] ?? "") : (values[0] ?? "");
      left.clear();
    }
  }
  for (const value of left) {
    // Chosen, but no box of this page has it yet; the facets that come will.
    const control = Object.assign(document.createElement("input"), { type: "hidden", name, value, className: "beside" });
    document.getElementById("facets").append(control);
  }
}

export function ask() {
  form.dispatchEvent(new Event("change"));
}

export function choose(wanted) {
  for (const [name, value] of Object.entries(wanted)) set(name, value === "" ? [] : [value]);
  ask();
}

function follow(link) {
  const given = new URL(link.href).searchParams;
  const only = link.dataset.filters.split(" ").filter(Boolean);
  const fixed = ["view", "name", "shared", "opens"];
  const names = only.length ? only : new Set([...form.elements].map((control) => control.name));
  for (const name of [...names, ...(only.length ? [] : given.keys())]) {
    if (name && !fixed.includes(name)) set(name, given.getAll(name).filter(Boolean));
  }
  ask();
}

function count() {
  clearTimeout(counting);
  counting = undefined;
  for (const loader of document.querySelectorAll("[data-loads]")) {
    const target = document.getElementById(loader.dataset.loads);
    const used = loader.dataset.loads === "chart" && target.matches(":focus-within, :hover, :has(details[open])");
    const busy = used && !target.matches("[data-stale], [data-late]");
    if (!busy) htmx.trigger(loader, "refresh");
  }
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-filters]");
  const toggle = event.target.closest("[data-toggle]");
  if (toggle) {
    const open = document.getElementById(toggle.dataset.toggle).classList.toggle("open");
    toggle.setAttribute("aria-expanded", open);
  }
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  link.closest("details.menu")?.removeAttribute("open");
  follow(link);
});
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    if (!menu.contains(event.target)) menu.removeAttribute("open");
  }
});
document.addEventListener("keydown", (event) => {
  const menu = event.key === "Escape" && event.target.closest("details.menu[open]");
  if (!menu) return;
  menu.removeAttribute("open");
  menu.querySelector("summary").focus();
});
/* A value is asked for or left out, never both. */
form.addEventListener("change", ({ target }) => {
  if (target.type !== "checkbox" || !target.checked) return;
  const other = target.name.startsWith("not_") ? target.name.slice(4) : `not_${target.name}`;
  for (const control of controls(other)) {
    if (control.value !== target.value) continue;
    if (control.classList.contains("beside")) control.remove();
    else control.checked = false;
  }
}, true);
/* What stands in the form but belongs to another (columns, saving a view) asks for nothing. */
form.addEventListener("change", (event) => {
  if (event.target !== form && event.target.form !== form) event.stopImmediatePropagation();
}, true);
/* Counts of a list that goes, or is marked as old, are not shown any more: they would undo a choice that was made since. */
form.addEventListener("htmx:beforeRequest", () => {
  asking = true;
});
form.addEventListener("htmx:afterRequest", () => {
  asking = false;
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const { target, requestConfig } = event.detail;
  const counts = target.id === "facets" || target.id === "chart";
  const old = asking || !requestConfig.elt.isConnected || document.querySelector("#timeline[data-stale]");
  if (counts && old) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSwap", ({ detail: { target, requestConfig } }) => {
  if (requestConfig.elt === form) for (const id of ["chart", "facets"]) document.getElementById(id).dataset.late = "";
  if (target.id !== "chart" && target.id !== "facets") return;
  target.setAttribute("aria-busy", "false");
  target.removeAttribute("data-late");
  const said = target.querySelector("[data-said]")?.dataset.said;
  const told = document.getElementById("told");
  if (said && told.textContent !== said) told.textContent = said;
});
document.addEventListener("htmx:wsAfterMessage", (event) => {
  const fresh = event.detail.message.includes("<tr ") && !event.detail.message.includes('<tbody id="rows"');
  if (fresh) counting ??= setTimeout(count, LIVE_COUNTS);
});
/* A list that was away has been sent anew. Its counts may be old, and may have been asked for in vain. */
let opened;
document.addEventListener("htmx:wsOpen", ({ target }) => {
  if (target.id !== "timeline") return;
  if (opened === target) count();
  opened = target;
});
document.addEventListener("bulk-done", count);
