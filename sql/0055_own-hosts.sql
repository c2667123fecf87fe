-- When a worker last said that the hostname is a host of the service itself. Of no meaning where a project has it.
alter table certificates
  add column own_at timestamptz not null default now();
