-- Whether this login can have a queue of jobs in a schema of its own. One of that name that is not ours is left alone.
select has_database_privilege(current_database(), 'create')
       and to_regnamespace('procrastinate') is null as possible;
