from django.apps import AppConfig


class TourConfig(AppConfig):
    """The first steps."""

    name = "dashboard.tour"
    label = "tour"

    def ready(self) -> None:
        from dashboard.accounts.access import first_steps
        from dashboard.configuration.signals import project_created
        from dashboard.tour.sample_agents import samples_copy
        from dashboard.tour.selectors import first_steps_path

        first_steps.provide(first_steps_path)
        project_created.connect(samples_copy, dispatch_uid="tour.samples")
