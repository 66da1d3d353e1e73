"""The track record, and asking once more why a prediction failed."""

from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from dashboard.accounts.models import User
from dashboard.agents.selectors import project_current
from dashboard.policies.predictions.failure_check import prediction_check
from dashboard.policies.predictions.models import Prediction
from dashboard.policies.predictions.presenters import LISTED, track_record_view
from dashboard.policies.predictions.selectors import prediction_get


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """By model, and the predictions that failed."""
    context = {"shown": track_record_view(project_current()), "most": LISTED}
    return render(request, "predictions/index.html", context)


@require_POST
def check(request: HttpRequest, prediction_id: UUID) -> HttpResponse:
    """Run the recorded turn once more under its own policy, to tell why a certain prediction failed."""
    try:
        prediction = prediction_get(prediction_id, project=project_current())
    except Prediction.DoesNotExist as error:
        raise Http404(f"There is no prediction {prediction_id}.") from error
    try:
        prediction_check(prediction=prediction, created_by=cast("User", request.user))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, "The turn is being run again under its recorded policy. The reason follows.")
    return redirect("predictions:index")
