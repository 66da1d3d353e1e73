"""Live: choose an agent, talk to it, see what was said."""

from typing import Any, cast
from uuid import UUID

from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentcore.quoting import quoted
from dashboard.accounts.models import User
from dashboard.agents.models import Agent
from dashboard.agents.selectors import agent_get, agent_list, project_current
from dashboard.live.conversations.forms import BudgetForm, PromptForm
from dashboard.live.conversations.page_context import (
    ConversationView,
    conversation_view,
    number_from,
    page_context,
    uuid_from,
)
from dashboard.live.conversations.selectors import conversation_get
from dashboard.live.conversations.services import budget_set, prompt_send
from dashboard.turns import selectors
from dashboard.turns.conversations.models import Conversation
from dashboard.turns.models import Turn

GONE = "This conversation no longer exists. Send the prompt again to start a new conversation."


@require_safe
def choose(request: HttpRequest) -> HttpResponse:
    """The agents there are."""
    return render(request, "live/choose.html", {"agents": agent_list(project=project_current())})


@require_http_methods(["GET", "HEAD", "POST"])
def agent(request: HttpRequest, name: str) -> HttpResponse:
    """A new conversation with an agent, or one of those there are (`?conversation=`, or a turn of it, `?turn=`)."""
    chosen = _agent_or_404(name)
    if request.method == "POST":
        return _send(request, chosen)
    return _page(request, _talk(request, chosen), PromptForm(chosen))


def _agent_or_404(name: str) -> Agent:
    try:
        return agent_get(project=project_current(), name=name)
    except Agent.DoesNotExist as error:
        raise Http404(f"There is no agent {quoted(name)}.") from error


def _talk(request: HttpRequest, chosen: Agent) -> ConversationView:
    """What the address names: a conversation, a turn of one, a turn of none, or nothing yet."""
    conversation, since = _conversation(request.GET.get("conversation"), chosen), number_from(request.GET.get("from"))
    turn = _turn(request.GET.get("turn")) if conversation is None else None
    if turn is not None and turn.conversation_id and turn.agent_id == chosen.pk:
        conversation = turn.conversation
    return conversation_view(chosen, conversation, since=since, alone=None if conversation else turn)


def _conversation(text: str | None, chosen: Agent) -> Conversation | None:
    wanted = uuid_from(text)
    try:
        found = conversation_get(wanted, project=chosen.project) if wanted else None
    except Conversation.DoesNotExist:
        return None
    return found if found and found.agent_id == chosen.pk else None


def _turn(text: str | None) -> Turn | None:
    wanted = uuid_from(text)
    try:
        return selectors.turn_get(wanted) if wanted else None
    except Turn.DoesNotExist:
        return None


def _page(
    request: HttpRequest, talk: ConversationView, form: PromptForm, status: int = 200, budget_form: Any = None
) -> HttpResponse:
    context: dict[str, Any] = {
        **page_context(talk),
        "agents": agent_list(project=talk.agent.project),
        "form": form,
        "budget_form": budget_form or BudgetForm(talk.conversation),
    }
    return render(request, "live/agent.html", context, status=status)


def _send(request: HttpRequest, chosen: Agent) -> HttpResponse:
    form = PromptForm(chosen, request.POST)
    named = request.POST.get("conversation", "")
    conversation = _conversation(named, chosen)
    if named and conversation is None:
        form.add_error(None, GONE)
    turn = _sent(form, conversation, cast("User", request.user)) if form.is_valid() else None
    by_htmx = bool(request.headers.get("HX-Request"))
    if turn is None:
        return _refused(request, conversation_view(chosen, conversation), form, by_htmx=by_htmx)
    assert turn.conversation is not None, "a prompt is sent in a conversation"
    address = f"{reverse('live:agent', args=[chosen.name])}?conversation={turn.conversation.pk}"
    if not by_htmx:
        return redirect(address)
    talk = conversation_view(chosen, turn.conversation)
    context = {**page_context(talk), "budget_form": BudgetForm(turn.conversation)}
    response = render(request, "conversations/_conversation.html", context)
    response["HX-Push-Url"] = address
    return response


def _sent(form: PromptForm, conversation: Conversation | None, user: User) -> Turn | None:
    """The new turn; None where the service found something wrong, which is then on the form."""
    try:
        return prompt_send(
            agent=form.agent,
            conversation=conversation,
            input_text=form.cleaned_data["input"],
            overrides=form.overrides,
            token_budget=form.cleaned_data["token_budget"],
            created_by=user,
        )
    except ValidationError as error:
        form.take_errors(error)
        return None


def _refused(request: HttpRequest, talk: ConversationView, form: PromptForm, *, by_htmx: bool) -> HttpResponse:
    if not by_htmx:
        return _page(request, talk, form, status=422)
    # htmx puts only answers of 200 into the page.
    response = render(request, "live/_composer.html", {"agent": talk.agent, "form": form, "talk": talk})
    response["HX-Retarget"], response["HX-Reswap"] = "#composer", "outerHTML"
    return response


@require_POST
def budget(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    """Raise the conversation's budget, lower it, or take it away; then back to the conversation. What is wrong is said
    at the field, which keeps what was typed."""
    try:
        conversation = conversation_get(conversation_id, project=project_current())
    except Conversation.DoesNotExist as error:
        raise Http404(f"There is no conversation {conversation_id}.") from error
    form = BudgetForm(conversation, request.POST)
    if not _budget_is_set(conversation, form):
        chosen = _agent_or_404(conversation.agent_name)
        talk = conversation_view(chosen, conversation)
        return _page(request, talk, PromptForm(chosen), status=422, budget_form=form)
    return redirect(f"{reverse('live:agent', args=[conversation.agent_name])}?conversation={conversation.pk}")


def _budget_is_set(conversation: Conversation, form: BudgetForm) -> bool:
    """Set the budget that the form asks for. False: the form says why it was not set."""
    if not form.is_valid():
        return False
    try:
        budget_set(conversation=conversation, token_budget=form.cleaned_data["token_budget"])
    except ValidationError as error:
        form.add_error("token_budget", error.messages)
        return False
    return True
