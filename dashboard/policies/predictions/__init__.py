"""The track record: predictions stored before a re-run starts, and whether they came true.

forecast            what a what-if predicts for a re-run, stored together with the new turn
suggested_limits    the suggested limit that a re-run tries, stored with its prediction; `suggested_record` counts them
outcome_comparison  the worker compares each prediction with the turn it is about, once that has ended
failure_check       a certain prediction that failed: the turn is run again under its recorded policy, to tell why
selectors           the counts by model, and the predictions that did not come true; `presenters` and `record_text` say
                    them
trials              which re-runs `manage.py calibrate` makes of stored turns; `calibration_state` and
                    `calibration_loop` make them within a budget, `terminal_output` says what came of them
live_trials         turns of unknown end under a draft, tried live
"""
