"""Background work: queues in the database, and the workers in this process that take jobs from the queues.

A job holds only ids. A write that makes a job necessary defers the job in the same transaction. A lost job is soon
replaced: each queue has a sweep, a periodic task that makes missing jobs again.
"""
