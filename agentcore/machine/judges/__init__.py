"""One module per deciding state: snapshot and policy in, judgement out."""
