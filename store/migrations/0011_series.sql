-- Whether short files of a scope stand, or stood, side by side in a numbered series: a search looks for neighbours only
-- there. Of a scope that was made before nobody knows, so it may have some.
alter table scope_stat add column has_series boolean not null default true;
alter table scope_stat alter column has_series set default false;
