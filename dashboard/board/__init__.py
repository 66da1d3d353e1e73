"""Metrics of turns over time: the metrics board, and the values that alerts check.

models       `Sum`: what the turns of one agent, provider and model come to in a minute, an hour, six hours or a day
sum_updates  sums brought up to date by the worker, minute by minute as turns change
measures     the names of what is summed
metrics      what a metric is, made of sums
selectors    the sums of a time, and the board
charts       the board, drawn
alerts       rules on metrics, judged by the worker
"""
