"""`manage.py bench shards`: the stored data in one schema for each project, spread over several databases.

This is how Citus would shard it (schema-based sharding, Citus 12). `placement` says where each table goes, `catalogue`
reads what the database has, and `requirements` compares the two with what Citus accepts.
"""
