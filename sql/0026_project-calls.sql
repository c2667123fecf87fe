-- How many calls with a project's tokens each second has seen, in all api processes; only where a limit is set. Unlogged: a crash may forget.
create unlogged table project_calls (
  project_id bigint not null,
  second     bigint not null, -- since 1970
  calls      integer not null,
  primary key (project_id, second)
);
