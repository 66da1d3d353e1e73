"""One module per deciding state, each with one `judge(snapshot, policy) -> Judgement`.

A judge asks every criterion (`judgement.evaluate`), names the trigger to leave by, and gives the snapshot as it leaves:
with the next `Call`, or with the end decided. It never names the next state: that is the table's word.
`machine.advance.JUDGES` says which judge is whose.
"""
