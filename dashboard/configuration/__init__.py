"""The pages where an installation is set up: projects and their members, agents and connections.

agent_views       the pages of agents and connections, at `agent_urls`; `agent_summaries` are the rows of their lists
project_views     the pages of projects and members, at `project_urls`, with `project_forms`
admin             agents and connections in Django's admin
signals           what other packages are told
"""
