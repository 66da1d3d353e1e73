"""The machine: `advance(snapshot, event, policy) -> Step`.

Theory of operation. An event is taken in: it adds its facts to the snapshot and pulls a trigger. The table says where
that leads. While the state is a deciding one its judge asks the criteria, changes the snapshot and names the next
trigger; a breakpoint may hold it instead. In a waiting or terminal state the command is read off the snapshot.

state_diagram                   the transition table (`agentcore.states`), drawn
event_handlers, operator_changes  how events enter; what an operator's changes
accounting                      tokens, text and failures of an attempt, added to the snapshot
answer_classification           what an answer is
judges, judgement               one module per deciding state, and what all of them share
error_context                   the error, as the error policy is asked about it
breakpoints                     why the machine holds on entering a deciding state; what of each limit is used
pending_tool_calls              tool calls that have not run: changed, approved of, refused
state_commands                  the command of a state
finish                          status, reasons and notice of a turn that ends; what operators are told on the way
advance                         all of it together
"""
