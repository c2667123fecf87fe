-- A hostname that was claimed while it was being removed left its probe behind, due for ever and in the way of the others.
delete from probes p using domains d where d.id = p.domain_id and d.deleted_at is not null;
