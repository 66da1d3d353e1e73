/* The state diagram at a step: which states and moves are past, now or yet to come, and by what each was entered last.
   The same as `diagram_of` in dashboard/turns/diagram.py. */
function travelled(steps, now) {
  const entered = new Map([[steps.move(1).source, { last: 0, triggers: [] }]]);
  const pairs = new Map();
  for (let number = 1; number <= now; number += 1) {
    const { state, trigger, pair } = steps.move(number);
    let known = entered.get(state);
    if (!known) entered.set(state, (known = { last: 0, triggers: [] }));
    known.last = number;
    known.triggers.push(trigger);
    pairs.set(pair, number);
  }
  return { entered, pairs };
}

const when = (last, now) => (last === undefined ? "future" : last === now ? "now" : "past");

function label(entry) {
  const last = entry?.triggers.at(-1);
  if (!last) return "";
  const count = entry.triggers.filter((trigger) => trigger === last).length;
  const word = last.startsWith("release_") ? "release" : last;
  return count > 1 ? `${word} ×${count}` : word;
}

const change = (element, mark) => element.dataset.when !== mark && (element.dataset.when = mark);

export function draw(root, steps, now) {
  const { entered, pairs } = travelled(steps, now);
  for (const node of root.querySelectorAll("[data-state]")) change(node, when(entered.get(node.dataset.state)?.last, now));
  for (const edge of root.querySelectorAll("[data-pair]")) change(edge, when(pairs.get(edge.dataset.pair), now));
  for (const text of root.querySelectorAll("text[data-label]")) {
    const wanted = label(entered.get(text.dataset.label));
    if (text.textContent !== wanted) text.textContent = wanted;
  }
}

/* The step at which a state is entered next after `now`, or first; 0 where it never is. */
export function entry(steps, state, now) {
  const entries = [];
  for (let number = 1; number <= steps.count; number += 1) if (steps.move(number).state === state) entries.push(number);
  return entries.find((number) => number > now) ?? entries[0] ?? (steps.move(1).source === state ? 1 : 0);
}
