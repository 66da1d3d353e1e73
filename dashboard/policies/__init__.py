"""The source, author and cost of each limit of a turn, and ways to try another value.

field_sources                 each field of a policy with its value and whose word that is, for a turn that ran and one
                              to come
stop_setting                  which field of a policy ended a turn, and who had set it so: a version, or an operator
stop_explanation              the derivation of a turn, with whose word each part of it was
field_settings                who set a field to what it is, when and why
ledger                        the same of all that stopped turns, with what it cost
overview                      policies and versions as their pages show them
audit_log                     who did what: to policies, to agents and connections
policy_creation               new policies and versions, and what a backtest is evidence for; `policy_versions`
                              activates and attaches them
policy_forms, admin           what a person fills in, of `policy_form_base`; `saved_policy` stores it
policy_impact                 which agents and attachments a version concerns
policy_file, policy_import    policies as one file, out and in
shadow_evaluation             a draft judged over live turns; `models`, `services` and `selectors` are shadows and
                              verdicts
field_text                    fields and values in English
views, action_views           pages to look at, and what may be done on them; `limit_views` the smallest limit that
                              suffices
backtests                     a draft tried over stored turns
suggestions                   the limit that would have let a turn finish
predictions                   what was predicted, and whether it came true
"""
