"""The interface for SQL: views in the schema `whystop`, comments on all tables and columns, `manage.py query`.

views.sql       the views: the one place where they are told from the tables, so that these may change underneath
model_comments  what tables and columns mean, from their models; `shared_comments` of columns that many tables have
view_installer  makes views and comments, once for each change of them
"""
