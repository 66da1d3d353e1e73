/* The steps of the turn, from the page's data (dashboard/turns/step_view.py): what recurs stands once and is named by its
   place. `texts` adds what follows from the rest, as dashboard/turns/step_view.py does. */
const WAY = ["trigger", "target", "guard", "miss", "stood", "shape"];
const ROWS = {
  said: ["criterion", "key", "reason", "decision", "shape", "by"],
  facts: ["name", "value"],
  gauges: ["name", "used", "limit", "left", "heat", "value", "most"],
  roads: WAY,
  others: WAY,
};
const FIELDS = ["number", "state", "source", "target", "trigger", "reason", "place", "at", "handling"];
const SHAPES = { retry: "play", stop: "octagon" };
const DERIVED = {
  said: (row) => ({ ...row, decided: row.by ? " decided" : "" }),
  gauges: (row) => ({ ...row, label: `${row.name}: ${row.used} of ${row.limit} used` }),
};

const named = (names, values) => Object.fromEntries(names.map((name, index) => [name, values[index]]));

/* What the page says of every step, from 1. `move` is cheap: state, source and trigger alone. */
export function read(text) {
  const { rows, steps, keys } = JSON.parse(text);
  const value = (number, name) => steps[number - 1][FIELDS.indexOf(name)];
  const moves = steps.map((_, index) => {
    const state = value(index + 1, "state");
    const source = value(index + 1, "source").replaceAll(" ", "_");
    return { state, source, trigger: value(index + 1, "trigger"), pair: [source, state].sort().join("-") };
  });
  return {
    count: steps.length,
    keys,
    move: (number) => moves[number - 1],
    seconds: (number) => value(number, "at"),
    step: (number) => texts(rows, steps[number - 1]),
  };
}

function texts(rows, values) {
  const step = named(FIELDS, values);
  Object.keys(ROWS).forEach((table, index) => {
    const derive = DERIVED[table] ?? ((row) => row);
    step[table] = values[FIELDS.length + index].map((place) => derive(named(ROWS[table], rows[table][place])));
  });
  return {
    ...step,
    hash: `#t${step.number}`,
    heading: step.said.length ? "Why" : "What happened",
    handling_shape: SHAPES[step.handling] ?? "ring",
    sentence: `Transition ${step.number}: ${step.source} to ${step.target}, by ${step.trigger.replaceAll("_", " ")}. ${step.place}`,
  };
}
