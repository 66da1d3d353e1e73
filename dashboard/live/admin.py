"""The admin does not show the jobs of the queue: turns and backtests show their state; `doctor` counts failed jobs."""

from django.contrib import admin
from procrastinate.contrib.django.models import ProcrastinateJob

admin.site.unregister(ProcrastinateJob)
