-- A project's active tokens, and those that it revoked last, are found without a look at all that it ever revoked.
create index token_project_state on tokens (project_id, revoked_at);

-- What a project gave up of a hostname lies together, and other projects' claims of it on either side: a look for one is no look at all of the other,
-- however often the hostname was claimed and given up. The index that it stands beside stays: to drop it would lock claims while this one is made.
create index domain_released_project on domains (hostname, project_id, deleted_at) where deleted_at is not null;
