"""A free endpoint with known characters and faults, to test set-ups, budgets and resumption."""
