-- Of a closed version whose text is gone, because its file has a later one of the same day.
alter table revision add column thinned bigint[]; -- the change of that version, and how much of its beginning and end is the same
