"""JSON Schema validation, in processes that can be killed.

A schema of a few hundred bytes can take hours and gigabytes, and whoever judges by it cannot be stopped. So no process
that serves does it: `judge_program` is another one, which limits its own time and memory and ends when it exceeds them.

validator        what the rest of the product asks: `violations`, `fault_in`, and `off_loop` for who may not wait; what
                 was found is kept, so that the same is not asked twice
plain_schemas    which schemas are so plain and small that they are judged by at once; pure
judge_overload   that judges are busy, which is no finding
judge_processes  this process's judges: a quick one for most schemas, a slow one for what takes it too long
judge_program    what runs in them
schema_faults    what is wrong with a schema, in words; pure
admission_queue  that one asker leaves others a place at them
"""
