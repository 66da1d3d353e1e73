"""The benchmarks of `manage.py bench`. Each rate is compared with a bound of the same run, to cancel noise."""
