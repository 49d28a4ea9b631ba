"""A free endpoint with simulated models of known behaviour and known faults, to test set-ups,
budgets and resumption.
"""
