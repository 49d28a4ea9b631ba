"""The store: one database that holds every reply, attempt and judgement ever paid for.

    database       opening it; `backends`: in a file, or at an address
    schema         its tables; `rows` and `blobs` are how they are written, `migrations` leads there
    attempts       calls, their leases, every attempt
    results        what they came to
    registry       who took part
    usage          what it cost; `tokens`: what it took
    group_commit   many writers, one durable commit

Most modules are functions on a connection: they open nothing and wait for nothing, so one
transaction can do several.
"""
