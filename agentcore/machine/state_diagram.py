"""The transition table as others read it: a diagram, and rows. Both are made from the table, so neither can differ."""

from collections.abc import Mapping

from agentcore.states import CALLS, DECIDING, RELEASES, TERMINAL, TRANSITIONS, WAITING, State, Trigger

_START = "[*]"

#: Moves that every waiting state has, or that lead to and from `held`; drawn, they would hide all others.
_EVERYWHERE = frozenset(
    {Trigger.CANCEL, Trigger.BREAKPOINT, Trigger.INTERRUPTED, Trigger.LOST, Trigger.OPERATOR_ACTED, *RELEASES.values()}
)


def mermaid() -> str:
    """The table as a Mermaid state diagram, without the moves that exist everywhere."""
    lines = ["stateDiagram-v2", f"    {_START} --> {State.IDLE}"]
    for source, row in TRANSITIONS.items():
        for target, triggers in _by_target(row).items():
            drawn = [trigger for trigger in triggers if trigger not in _EVERYWHERE]
            if drawn:
                lines.append(f"    {source} --> {target}: {', '.join(drawn)}")
    lines += [f"    {state} --> {_START}" for state in TERMINAL]
    return "\n".join(lines) + "\n"


def markdown_table() -> str:
    """Every transition: one row per state, trigger and target."""
    lines = ["| from | trigger | to |", "|---|---|---|"]
    for source, row in TRANSITIONS.items():
        lines += [f"| {source} | {trigger} | {target} |" for trigger, target in row.items()]
    return "\n".join(lines) + "\n"


def page() -> str:
    """The text of docs/reference/state-machine.md."""
    kinds = {"calls": CALLS, "waiting": WAITING, "deciding": DECIDING, "terminal": TERMINAL}
    listed = "\n".join(f"- {kind}: {', '.join(states)}" for kind, states in kinds.items())
    return (
        "# The state machine\n\n"
        "The states of a turn, and every transition between them. An event (an answer, an error, the results of tools, "
        "an operator's action) moves the machine through deciding states to the next waiting or terminal state. "
        "No other transition is possible. A transition is named after its reason, such as `retry_limit`.\n\n"
        f"{listed}\n\n"
        "This page is generated from the transition table in `agentcore/states.py`; a test fails while it is "
        "not current. To generate it again: "
        "`python -m agentcore.machine.state_diagram > docs/reference/state-machine.md`.\n\n"
        f"```mermaid\n{mermaid()}```\n\n"
        "Not drawn: `cancel` from every waiting state to `abort`, and `lost` from all of them but `held`; "
        "`breakpoint` from every deciding state to `held`, and the release back; `interrupted` and `operator_acted`, "
        "which repeat the command of a state.\n\n"
        f"## Every transition\n\n{markdown_table()}"
    )


def _by_target(row: Mapping[Trigger, State]) -> dict[State, list[Trigger]]:
    found: dict[State, list[Trigger]] = {}
    for trigger, target in row.items():
        found.setdefault(target, []).append(trigger)
    return found


if __name__ == "__main__":
    import sys

    sys.stdout.write(page())
