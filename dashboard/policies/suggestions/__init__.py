"""The limit that would have let a turn finish, as one typed value for pages, API and commands.

Pages call it the sufficient limit; the code calls it a suggestion. No column holds it: it is computed on request.

exhausted_limits   the limit that a turn ran out of, and how much of it was used
repaired_calls     what is known of truncated tool calls that were requested again
limit_trials       the same with the re-runs that tried it; and what follows a cap that the provider refuses
suggestion         the value: a limit, a number, and what that rests on; `suggestion_text` is its sentences
selectors          finds it: by the recording, then by re-runs (`reruns`, of it and of its `relatives`, which
                   `shown_values` reads), then by turns like it (`limit_usage`)
suggestion_log     those that were told lately, by any process, so that a re-run is a test of what was told
api_suggestions    the same as the API shows it with each turn
suggestion_cache   the same for the turns of a list, remembered; `list_suggestions` finds them and sorts by them
panel              the same as the head of a turn's page shows it; `views` are the panel and a cell of the timeline
standing_text      what the turn had of the limit, and that its agent or policy allows as much already
rerun_text         why no further re-run is started or offered
next_step          what to do about a turn that no higher limit would have helped
sweep_suggestions  the same beside a sweep, whose page `sweep_views` makes
services           what is done with it: a live re-run, a backtest, a draft
"""
