-- Whether another project has a verified name under a domain is answered by a look at either side of the project's own, however many those are.
create index domain_family_verified on domains (substr(hostname, strpos(hostname, '.') + 1), project_id) where verified_at is not null;
