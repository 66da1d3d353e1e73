"""The first steps: a tour of turns on the simulator, each one a lesson, and three ways to record one's own turns.

lesson     what a lesson is
lessons    all of them: which agent is asked what, under which limits, and the sentence that says what to look at
models     which turn is which lesson's: the only turns that belong to the tour
services   load the tour, go on with its re-runs, remove it
tasks      the job that starts a re-run once its original turn has ended
"""
