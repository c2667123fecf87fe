-- A project's active tokens, and those that it revoked last, are found without a look at all that it ever revoked.
create index token_project_state on tokens (project_id, revoked_at);
