"""Agents, connections and policies: which model is called, at which address, under which limits.

models             connections, policies and their versions, agents; `selectors` read them, `services` writes
                   connections and agents
validation         what a connection and an agent may say, in words; `policy_validation` the same of a policy
policies           from a stored policy and overrides to the core's `Policy`, with what the core does not have:
                   `schema_validation` (JSON Schema), `criteria` (classes of one's own)
schema_validation  JSON Schemas of strangers, compiled and judged by in processes that can be killed
policy_resolution  which policy's word counts, field by field; pure. `policy_layers` asks it for an agent's next turn
observe_policy     what a call runs under that is only watched; pure
activation_models  which version counts since when, and where policies are attached
offered_tools      the tools that an agent may be given, which `tools` provides
current_project    the project of the request, socket or command under way; `project_command` is for commands
samples            the simulator and the sample agents of a new project
change_tracking    who changed what, kept by the database
limit_fields       unit, range and meaning of each limit
forms              what a person fills in; `stale_forms` notices changes made after the page was opened
"""
