-- Whether another project names a hostname as its CNAME target is asked of each claim that is not verified. In the collation of hostnames.
create index project_cname_target on projects (cname_target collate "C") where cname_target is not null and deleted_at is null;
