-- Files whose front matter says `pinned: true` go first into every context. Heads that were written before are
-- found here by that line; from now on the parser says it.
alter table revision add column pinned boolean not null default false;

update revision
   set pinned = true
 where rev_end is null
   and not deleted
   and ltrim(substring(content for 4), chr(65279)) like '---%'
   and split_part(substring(content for 65536), chr(10) || '---', 1) ~* '\npinned:[ \t]*(true|yes|on)[ \t\r]*(\n|$)';

create index revision_pinned on revision (scope_id, path) where rev_end is null and not deleted and pinned;
