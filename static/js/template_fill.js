/* Puts values into elements that the server has made: data-fill (text; with data-coded, keys of settings stand as code),
   data-set (attributes, "name:pattern|…"), data-if (shown where there is something), data-each (rows, made from
   <template data-row>). Text stays text. */
const holds = (value) => (Array.isArray(value) ? value.length > 0 : Boolean(value));

const put = (pattern, values) => pattern.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");

let keys = []; // of settings

export const knowKeys = (found) => (keys = found);

/* The same as `words_in_code` in dashboard/turns/templatetags/glossary.py. */
function inCode(text) {
  const parts = text.split(new RegExp(`\\b(${keys.join("|")})\\b`));
  return parts.map((part, index) => (index % 2 ? code(part) : part));
}

function code(key) {
  const element = document.createElement("code");
  element.textContent = key;
  return element;
}

function write(element, text) {
  if (element.textContent === text) return;
  if ("coded" in element.dataset && keys.length) element.replaceChildren(...inCode(text));
  else element.textContent = text;
}

function set(element, values) {
  for (const part of element.dataset.set.split("|")) {
    const colon = part.indexOf(":");
    const [name, pattern] = [part.slice(0, colon), part.slice(colon + 1)];
    const wanted = put(pattern, values);
    if (element.getAttribute(name) !== wanted) element.setAttribute(name, wanted);
  }
}

function rows(list, items) {
  const template = document.querySelector(`template[data-row="${list.dataset.each}"]`);
  while (list.childElementCount > items.length) list.lastElementChild.remove();
  while (list.childElementCount < items.length) list.append(template.content.firstElementChild.cloneNode(true));
  items.forEach((item, index) => fillOne(list.children[index], item));
}

function fillOne(root, values, within = () => true) {
  const each = (selector, act) => {
    if (root.matches(selector)) act(root);
    for (const element of root.querySelectorAll(selector)) if (within(element)) act(element);
  };
  each("[data-fill]", (element) => {
    const value = values[element.dataset.fill];
    if (value !== undefined) write(element, String(value));
  });
  each("[data-set]", (element) => set(element, values));
}

/* Fill everything under `root`: what stands once, then list by list, row by row. */
export function fill(root, values) {
  fillOne(root, values, (element) => !element.closest("[data-each]"));
  for (const element of root.querySelectorAll("[data-if]")) element.hidden = !holds(values[element.dataset.if]);
  for (const list of root.querySelectorAll("[data-each]")) rows(list, values[list.dataset.each] ?? []);
}
