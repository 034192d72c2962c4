"""Work in the background: queues in the database, and the workers in this process that take jobs from them.

A job holds ids only, and is deferred in the transaction of the write that makes it needed. One that is lost is not
missed for long: each queue has a sweep that makes it again.
"""
