"""What an analyst asks by SQL: views in the schema `whystop`, a comment on every table and column, `manage.py query`.

views.sql  the views: the one place where they are told from the tables, so that these may change underneath
meanings   what tables and columns mean, from their models
installed  makes views and comments, once for each change of them
"""
