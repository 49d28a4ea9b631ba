"""One paid call: budget, limits, retries, leases, and the ledger of every attempt."""
