-- How a project's upstream is spoken to. HTTP/2 is over TLS or in plain text, and the address says which of them: the two must agree.
alter table projects
  add column upstream_protocol text not null default 'http1'
    constraint project_upstream_protocol_known check (upstream_protocol in ('http1', 'h2', 'h2c')),
  add constraint project_upstream_protocol_fits check (
    upstream_protocol = 'http1'
    or upstream_protocol = 'h2' and upstream_url ilike 'https:%'
    or upstream_protocol = 'h2c' and upstream_url ilike 'http:%'
  );
