"""`manage.py bench abuse`: attacks on a running installation, while the calls of another key go on.

installation   a whole server of the run's own, its processes and their memory
provider       the model's server, which can be hostile too
bystander      the other key: so many calls a second, whatever else happens
sending        requests of an attacker, and how they are answered
attacks        the table of attacks: schemas, texts, connections, files
run            one attack after another, and what is aimed at
"""
