"""An endpoint that plays known characters with known faults: set-ups, budgets and resumption for nothing."""
