"""A suggestion in words. Output only: nothing parses it."""

from collections.abc import Callable, Mapping

from agentcore.number_format import count, number, percent, seconds
from agentcore.policy import LIMIT_NAMES, SETTING_NAMES, higher, limit_in_words
from agentcore.replay import Certainty
from agentcore.resource import APPROVAL_SECONDS
from agentcore.sufficient_max_tokens import END_AT_MOST
from dashboard.agents.limit_fields import amount, setting
from dashboard.policies.suggestions.evidence_text import too_little
from dashboard.policies.suggestions.rerun_text import needed_less, rerun_found, rerun_named
from dashboard.policies.suggestions.suggestion import Basis, Goal, Suggestion
from dashboard.replay.margin_text import MARGIN, one_call_estimated, with_end


def name_of(limit: str) -> str:
    """`Max tokens per call`: what people call it."""
    return LIMIT_NAMES[limit]


#: How sure a value is, in one word; what a live re-run has shown is proven, not merely certain.
_BY_CERTAINTY = {
    Certainty.RECORDED: "certain",
    Certainty.CERTAIN: "certain",
    Certainty.ESTIMATED: "likely",
    Certainty.UNDECIDABLE: "not known",
}


def certainty_word(said: Suggestion) -> str:
    """`proven`, `certain`, `likely` or `not known`, of the turn's end: the word on the badge, and in the API."""
    if said.basis is Basis.RERUN and said.certainty is Certainty.CERTAIN:
        return "proven"
    return _BY_CERTAINTY[said.finish_certainty]


def promise_word(said: Suggestion) -> str:
    """The same of what is promised: of a retry, that the call is tried again. The track record counts by it."""
    return _BY_CERTAINTY[said.certainty] if said.only_tries_again else certainty_word(said)


def _with(said: Suggestion) -> str:
    """`With Max tokens per call at 425`: how a sentence about a value begins."""
    return f"With {given(said, at='at ')}"


def given(said: Suggestion, *, at: str = "", first: int = 0) -> str:
    """`Max continuations 8 and Max completion tokens per turn 960`: all settings to change; one is not enough."""
    settings = _settings_of(said, at)[first:]
    return " and ".join([", ".join(settings[:-1]), settings[-1]] if settings[1:] else settings)


def _settings_of(said: Suggestion, at: str) -> list[str]:
    """`Max continuations 8`, `Max completion tokens per turn 960`: each setting to change."""
    beside = said.together or {}
    settings = [f"{error_kind(key)} errors set to {value}" for key, value in beside.get("error_policy", {}).items()]
    settings.append(f"{name_of(said.limit)} {at}{setting(said.limit, said.value)}")
    limits = beside.get("limits", {}).items()
    others = (f"no {name_of(key)}" if v is None else f"{name_of(key)} {at}{setting(key, v)}" for key, v in limits)
    return [*settings, *others]


def beside(said: Suggestion) -> list[str]:
    """`960 completion tokens`, `retry on tool errors`: each setting that must change with the limit, where there is
    little room: the limit itself is named before them, and the number comes first, so that it is never cut off."""
    together = said.together or {}
    errors = [f"{value} on {error_kind(key)} errors" for key, value in together.get("error_policy", {}).items()]
    limits = together.get("limits", {}).items()
    return [
        *(
            f"no limit on {_short(key)}" if value is None else f"{setting(key, value)}\u00a0{_short(key)}"
            for key, value in limits
        ),
        *errors,
    ]


def was_in_words(said: Suggestion) -> str:
    """`was 150`, `was not set`, `was not recorded`: the setting that the turn had."""
    if said.unrecorded:
        return "was not recorded"
    return "was not set" if said.recorded is None else f"was {setting(said.limit, said.recorded)}"


def error_kind(key: str) -> str:
    """`rate limit`, by `on_rate_limit_error`."""
    return key.removeprefix("on_").removesuffix("_error").replace("_", " ")


def _short(key: str) -> str:
    name = LIMIT_NAMES[key].removeprefix("Max ").removesuffix(" per turn")
    return name[0].lower() + name[1:]


def sentence(said: Suggestion) -> str:
    """What would have let the turn finish, in one sentence."""
    return _SENTENCES[said.basis](said)


def _recorded(said: Suggestion) -> str:
    if said.goal is Goal.NO_REPAIR:
        return _at_once(said)
    would = "would" if said.certainty.value in ("certain", "recorded") else "would likely"
    if said.goal is Goal.ONE_CALL:
        return f"{_with(said)}, one call {would} have been enough."
    return f"{_with(said)}, the turn {would} have finished."


def _rerun(said: Suggestion) -> str:
    """What a re-run has shown is in the past: nobody knows that the next one ends so too."""
    if said.goal is Goal.ONE_CALL:
        return _one_call_shown(said)
    if said.goal is Goal.NO_REPAIR:
        return _at_once(said)
    if said.certainty is not Certainty.CERTAIN:
        return _usual(said)
    return f"{_with(said)}, the turn {'would have ' if needed_less(said) else ''}finished."


def _one_call_shown(said: Suggestion) -> str:
    if said.certainty is not Certainty.CERTAIN:
        return f"{_with(said)}, one call would likely have been enough."
    return f"{_with(said)}, one call {'would have been' if needed_less(said) else 'was'} enough."


def _at_once(said: Suggestion) -> str:
    """Of a truncated tool call that was requested again."""
    shown = said.certainty is Certainty.CERTAIN
    verb = "was" if shown and not needed_less(said) else f"would {'' if shown else 'likely '}have been"
    return f"{_with(said)}, the tool call {verb} complete at once."


def _usual(said: Suggestion) -> str:
    return f"{_with(said)}, the turn would likely have finished."


def _setting(said: Suggestion) -> str:
    return f"{_with(said)}, the call would have been tried again."


def _none(said: Suggestion) -> str:
    if said.limit == APPROVAL_SECONDS:
        return f"With {higher(said.limit)}, the turn would have waited longer."
    what = "the tool call to be complete at once" if said.goal is Goal.NO_REPAIR else "this turn"
    return f"How large {limit_in_words(said.limit)} must be for {what} is not known yet."


_SENTENCES: Mapping[Basis, Callable[[Suggestion], str]] = {
    Basis.RECORDING: _recorded,
    Basis.RERUN: _rerun,
    Basis.AGENT: _usual,
    Basis.MODEL: _usual,
    Basis.SETTING: _setting,
    Basis.NONE: _none,
}


def because(said: Suggestion) -> str:
    """What it rests on, in one sentence; and why a larger cap is not possible."""
    return f"{_basis(said)}{_refused(said)}"


def full_in_words(ceiling: int) -> str:
    """Why a cap cannot be raised."""
    return (
        f"{name_of('max_tokens')} cannot be raised: it is at {SETTING_NAMES['max_output_tokens']} of the connection "
        f"({number(ceiling)})."
    )


def _too_low(ceiling: int) -> str:
    """The same of a cap that could be raised, and not far enough."""
    return (
        f"{name_of('max_tokens')} cannot be raised far enough: {SETTING_NAMES['max_output_tokens']} of the connection "
        f"is {number(ceiling)}."
    )


def _refused(said: Suggestion) -> str:
    if said.refused is None and said.full_at is not None:
        return f" {_too_low(said.full_at) if said.is_below_full else full_in_words(said.full_at)}"
    if said.refused is None:
        return ""
    most = "" if said.most is None else f": at most {number(said.most)} is allowed"
    return f" The provider refused {name_of('max_tokens')} {number(said.refused)}{most}."


def _basis(said: Suggestion) -> str:
    match said.basis:
        case Basis.RECORDING if said.goal is Goal.ONE_CALL:
            return _one_call(said)
        case Basis.RECORDING if said.goal is Goal.NO_REPAIR:
            return _requested_again(said)
        case Basis.RECORDING:
            return "The recording answers everything up to there."
        case Basis.RERUN:
            return f"{rerun_named(said)} {rerun_found(said)}"
        case Basis.AGENT | Basis.MODEL:
            return _share(said)
        case Basis.SETTING:
            return _of_another_try(said)
        case Basis.NONE if said.limit == APPROVAL_SECONDS:
            waited = setting(said.limit, said.recorded or 0)
            return f"It waited {waited}. Whether a person would have answered is not known."
        case Basis.NONE if said.limit == "max_retries":
            return "The recording does not show how often the provider would refuse again."
        case Basis.NONE:
            return too_little(said)


def _requested_again(said: Suggestion) -> str:
    """What the only evidence is, and why it is no more than likely."""
    took = count(said.value - max(said.unreported, END_AT_MOST), "token")
    besides = _unreported(said.unreported) if said.unreported > END_AT_MOST else MARGIN
    again = "A tool call was truncated and requested again, and the model may write it differently when asked once."
    return f"By this recording, one call would have taken at most {took}. {again}{besides}"


def _of_another_try(said: Suggestion) -> str:
    asked = f"The provider asked to try again in {seconds(said.wait)}." if said.wait else "The error may be temporary."
    why = f"{number(said.value)} allows {number(said.value - 1)} retries: a temporary error often outlasts one."
    return f"{asked} {why} Whether the provider would then have answered is not known."


def _one_call(said: Suggestion) -> str:
    used = said.used or 0
    if said.certainty is Certainty.CERTAIN:
        more = int(said.value) - used
        return f"The recorded calls used {count(used, 'token')} on this answer.{with_end(more) if more > 0 else ''}"
    return one_call_estimated(int(said.value), used, said.used_most)


def _share(said: Suggestion) -> str:
    """`Of the 41 answers of agent sim-essay longer than 60 tokens, 38 fit in 378 tokens; 2 were cut earlier, so what
    they needed is not known. This limit is estimated to be enough for 95 % of further answers like these.` First what
    was counted, which is true; then what is estimated of others."""
    answers = said.limit == "max_tokens"
    one = said.counted
    alike, fit = ("longer than", "fit in") if answers else ("that used more than", "completed within")
    newest = "newest " if said.newest else ""
    longer = f"{alike} {amount(said.limit, said.longer_than or 0)}"
    within = f"{fit} {amount(said.limit, said.value - said.unreported)}"
    stopped = f"{'was' if said.cut_earlier == 1 else 'were'} cut earlier" if answers else "stopped earlier"
    earlier = f"; {number(said.cut_earlier)} {stopped}, so what they needed is not known" if said.cut_earlier else ""
    besides = "" if not said.unreported else MARGIN if said.unreported <= END_AT_MOST else _unreported(said.unreported)
    older = " Older ones used less and are not counted." if said.newest else ""
    answers_of = f"{count(said.answers, newest + one)} of {said.noun} {said.of}"
    if said.within == said.answers:
        found = f"All {answers_of} {longer} {within}."
        why = f"The estimate for the next one is {percent(said.share or 0)}, because there are only"
        return f"{found}{older} {why} {number(said.answers)}.{besides}"
    found = f"Of the {answers_of} {longer}, {number(said.within)} {within}{earlier}."
    estimated = f"This limit is estimated to be enough for {percent(said.share or 0)} of further {one}s like these."
    return f"{found}{older} {estimated}{besides}"


def _unreported(tokens: int) -> str:
    return f" The value includes {count(tokens, 'token')} that the model counts but does not report."
