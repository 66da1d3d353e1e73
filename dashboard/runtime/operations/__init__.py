"""Operations: backup, restore and the checks of `manage.py doctor`.

programs   the PostgreSQL programs that match a server
archive    the file of a backup: its members, its manifest, its checksums
backup     writes one, while everything else goes on
restore    reads one into an empty database, or in place of another
doctor     what is checked, and the checks of the database, the queue and the machine
"""
