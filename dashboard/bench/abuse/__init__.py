"""`manage.py bench abuse`: attacks a running installation while calls with another key continue.

installation             a whole server of the run's own, its processes and their memory
provider                 the model's server, which can be hostile too
bystander                the other key: so many calls a second, whatever else happens
attack_requests          requests of an attacker, and how they are answered
schemas, files           attacks by what a request holds
connections, websockets  attacks by how it is sent
run                      one attack after another, and what is aimed at
"""
