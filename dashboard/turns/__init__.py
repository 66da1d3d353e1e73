"""Turns: how they are stored and read, and the pages of one turn.

models     what is stored of a turn; `recorder` commits it, `history` reads it, `projection` makes the row of a turn
turn_view  the values of a turn's page; `views` answers for it, `api_serializers` for programs
turn_tools what a tool of a turn may look into; `turn_documents` is what it was started with
turn_query the turns of a filter (`filters`)
prices     what calls cost
comments   what people attach to a step
seals      evidence that nothing stored was changed
sql_views  what an analyst asks by SQL
"""
