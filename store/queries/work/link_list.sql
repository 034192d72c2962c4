-- The labels that the user linked to a project. No row if there is none.
select label, slug, linked_at from work_link where scope_id = %(scope_id)s order by label;
