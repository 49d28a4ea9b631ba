"""The store: one database that holds every reply, attempt and judgement ever paid for.

database       opening it: a file (`sqlite`) or an address (`postgres`)
schema         its tables; `migrations` from those of older versions
attempts       calls, their leases, every attempt; `results` what they came to; `registry` who took part
group_commit   many writers, one durable commit
"""
