"""What `manage.py bench` measures: rates beside a bound of the same run, so that a noisy machine does not matter."""
