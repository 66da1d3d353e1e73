"""Ways through the code, as functions in the order in which they call or follow each other; a test traces each."""

from collections.abc import Mapping

Way = Mapping[str, str]  #: by `module:function`, what it does

TURN: Way = {
    "dashboard.live.turn_startup:turn_start": "Stores a turn with the policy in effect, and queues it.",
    "dashboard.live.driver:Driver.drive": "A worker takes the turn and performs one command after another.",
    "dashboard.live.turn_loader:load": "Reads where the turn stands, and the policy it keeps.",
    "dashboard.live.model_call:Exchange.run": "Makes the model call that is commanded, and keeps its bytes.",
    "dashboard.live.transport:Transport.post": "Sends the HTTP request; yields the bytes of the answer as they arrive.",
    "dashboard.live.response_reader:ResponseReader.take": "Passes the bytes through the provider's codec.",
    "dashboard.live.response_reader:CallResult.event": "Makes an event of the decoded answer, or of the failure.",
    "agentcore.machine.advance:advance": "One event in; its transitions and the next command out.",
    "agentcore.machine.judges.evaluate_stop:judge": "Judges the stop reason: end, tool calls, truncation or error.",
    "dashboard.turns.recorder:record_step": "Commits the step in one transaction: record, attempt, the turn's row.",
    "dashboard.turns.projection:project": "Makes the columns of that row from the machine's state.",
    "agentcore.verdict:verdict_of": "Says why the turn stopped, and what would have let it go on.",
    "dashboard.platform.notifications:announce_change": "Notifies open pages of the new record.",
    "dashboard.turns.views:detail": "Answers the request for the turn's page.",
    "dashboard.turns.turn_view:turn_view": "Computes the values of the page by evaluating the recording again.",
    "dashboard.turns.history:recording_of": "Decodes the stored records into events.",
    "dashboard.turns.step_view:step_view": "Describes one step: reason, criteria, limits, other possible transitions.",
}

LIMIT: Way = {
    "dashboard.policies.policy_forms:PolicyForm.clean": "Validates the fields of the form.",
    "dashboard.policies.policy_forms:PolicyForm.said": "Collects what the form sets; an empty field inherits.",
    "dashboard.policies.policy_creation:policy_create": "Stores it as the active version; versions never change.",
    "dashboard.live.turn_startup:turn_start": "Starts a turn.",
    "dashboard.agents.policy_layers:effective_policy_for": "Collects what applies to it, the most specific first.",
    "dashboard.agents.policy_resolution:resolve": "Takes each field from the first that sets it, with its source.",
    "dashboard.agents.policies:stored_policy": "Converts the turn's policy to a value of the library.",
    "agentcore.machine.advance:advance": "Evaluates each event under that policy.",
    "agentcore.machine.judges.continue_pending:judge": "Checks the limits before a truncated answer is continued.",
    "agentcore.machine.judgement:evaluate_now": "Asks every criterion; a single “forbid” decides.",
    "agentcore.machine.finish:partial": "Ends the turn with the answer so far.",
    "agentcore.resource:resource_of": "Names the limit that ended the turn, by its key.",
    "agentcore.verdict:verdict_of": "Says what happened, and which value would have sufficed.",
    "dashboard.policies.stop_setting:stop_setting_of": "Finds who set that limit, where and when.",
}

NUMBERS: Way = {
    "dashboard.turns.projection:project": "Took: computes `turns_turn.duration_ms`, the time until the last event.",
    "dashboard.turns.history:recording_of": "Sufficient limit: decodes the events in `turns_record`; no column has it.",
    "agentcore.replay.record_spans:fold": "Evaluates them again; the last snapshot shows what was used of each limit.",
    "dashboard.policies.suggestions.templatetags.suggestions:limit_of_turn": "Called by `turns/_head.html`.",
    "dashboard.policies.suggestions.panel:panel_of": "Collects what the panel shows, `suggestions/_limit.html`.",
    "dashboard.policies.suggestions.exhausted_limits:exhausted_limit_of": "Says which limit the turn ran out of.",
    "dashboard.policies.suggestions.selectors:suggestion_and_less": "Finds a value and its evidence.",
    "dashboard.replay.sweep_service:run_of": "Tries values of that limit on the recording.",
    "dashboard.policies.suggestions.suggestion_text:sentence": "Writes the sentence with the limit and its value.",
    "dashboard.turns.prices.templatetags.prices:turn_price": "Cost: called by the template, in `prices/_price.html`.",
    "dashboard.turns.prices.selectors:prices_of": "Reads `usage`, `model` and `request_url` of `turns_attempt`.",
    "dashboard.turns.prices.rates:rate_of": "Finds the list price of that model at that address.",
    "dashboard.turns.prices.templatetags.prices:money": "Writes the dollars, with ≈ where tokens are estimated.",
    "dashboard.turns.turn_view:TurnView.took_ms": "Took: the duration without the time that the turn was held.",
}
