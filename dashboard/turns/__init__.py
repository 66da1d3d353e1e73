"""Turns: how they are stored and read, and the pages of one turn.

models          what is stored of a turn; `recorder` commits it, `history` reads it, `projection` makes its row
turn_view       the values of a turn's page; `views` answers for it, `api_serializers` for programs
turn_documents  documents that a turn is started with, for its tools to look into
turn_query      the turns of a filter (`filters`)
conversations   the conversation that a turn belongs to
prices          what calls cost
comments        what people attach to a step
seals           evidence that nothing stored was changed
sql_views       what an analyst asks by SQL
"""
