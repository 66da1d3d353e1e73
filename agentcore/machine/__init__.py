"""The machine: `advance(snapshot, event, policy) -> Step`. States and their table, snapshots, judges, commands."""
