-- What the numbered files add up to. Written by the test that compares it: `npx vitest run src/core/migrations.test.ts -u`.

create sequence versions;

create table activity (
  id bigint not null generated always as identity,
  project_id bigint not null,
  at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  actor jsonb not null,
  action text not null,
  subject text not null,
  detail jsonb not null default '{}'::jsonb,
  xid xid8 default pg_current_xact_id(),
  constraint activity_pkey PRIMARY KEY (id),
  constraint activity_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX activity_project ON public.activity USING btree (project_id, id);
CREATE INDEX activity_project_made ON public.activity USING btree (((actor ->> 'email'::text))) WHERE (action = 'project.created'::text);
CREATE INDEX activity_xid ON public.activity USING btree (xid) WHERE (xid IS NOT NULL);

create table certificates (
  hostname text collate "C" not null,
  project_id bigint,
  state text not null default 'pending'::text,
  chain_pem text,
  sealed_key bytea,
  issuer text,
  serial text,
  not_before timestamp with time zone,
  not_after timestamp with time zone,
  renew_at timestamp with time zone,
  attempts integer not null default 0,
  last_attempt_at timestamp with time zone,
  last_problem json,
  last_sentence text,
  lease_until timestamp with time zone,
  next_attempt_at timestamp with time zone,
  version bigint not null default nextval('versions'::regclass),
  origin text not null default 'ordered'::text,
  directory text,
  ari_checked_at timestamp with time zone,
  ari_due_at timestamp with time zone,
  postponed_until timestamp with time zone,
  postponed_reason text,
  postponed_by text,
  wished_from timestamp with time zone,
  explanation_url text,
  dns_left_at timestamp with time zone,
  renewal_stopped_at timestamp with time zone,
  waits_for text collate "C",
  waits_since timestamp with time zone,
  leased_by text collate "C",
  xid xid8 not null default pg_current_xact_id(),
  own_at timestamp with time zone not null default now(),
  constraint certificates_pkey PRIMARY KEY (hostname),
  constraint certificate_complete CHECK ((((state = 'issued'::text) = (chain_pem IS NOT NULL)) AND ((chain_pem IS NULL) = (sealed_key IS NULL)))),
  constraint certificate_origin CHECK ((origin = ANY (ARRAY['ordered'::text, 'imported'::text]))),
  constraint certificate_postponed_by CHECK ((postponed_by = ANY (ARRAY['account'::text, 'share'::text, 'domain'::text, 'names'::text, 'failures'::text]))),
  constraint certificate_state CHECK ((state = ANY (ARRAY['pending'::text, 'issued'::text, 'failed'::text]))),
  constraint certificates_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX certificate_ari_due ON public.certificates USING btree (ari_due_at) WHERE (ari_due_at IS NOT NULL);
CREATE INDEX certificate_due ON public.certificates USING btree (next_attempt_at) WHERE (next_attempt_at IS NOT NULL);
CREATE INDEX certificate_line ON public.certificates USING btree (waits_for, waits_since) WHERE (waits_for IS NOT NULL);
CREATE INDEX certificate_turns ON public.certificates USING btree (waits_for, project_id, waits_since, hostname) WHERE (waits_for IS NOT NULL);
CREATE INDEX certificate_waiting ON public.certificates USING btree (project_id) WHERE ((chain_pem IS NULL) AND (next_attempt_at IS NOT NULL));
CREATE TRIGGER certificate_version_xid BEFORE UPDATE OF version ON public.certificates FOR EACH ROW EXECUTE FUNCTION set_version_xid();

create table challenges (
  type text not null,
  key text collate "C" not null,
  value text not null,
  expires_at timestamp with time zone not null,
  constraint challenges_pkey PRIMARY KEY (type, key, value),
  constraint challenge_type CHECK ((type = ANY (ARRAY['tls-alpn-01'::text, 'dns-01'::text])))
);
CREATE INDEX challenge_expiry ON public.challenges USING btree (expires_at);

create table changes (
  xid xid8 not null default pg_current_xact_id(),
  seq bigint not null generated always as identity,
  kind text not null,
  key text not null,
  created_at timestamp with time zone not null default now(),
  constraint changes_pkey PRIMARY KEY (xid, seq),
  constraint change_kind CHECK ((kind = ANY (ARRAY['host'::text, 'certificate'::text, 'project'::text, 'token'::text, 'setting'::text, 'challenge'::text])))
);

create table connect_links (
  id uuid not null default gen_random_uuid(),
  domain_id bigint not null,
  expires_at timestamp with time zone not null,
  constraint connect_links_pkey PRIMARY KEY (id),
  constraint connect_links_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains(id)
);
CREATE INDEX connect_link_domain ON public.connect_links USING btree (domain_id);
CREATE INDEX connect_link_expiry ON public.connect_links USING btree (expires_at);

create table domains (
  id bigint not null generated always as identity,
  project_id bigint not null,
  hostname text collate "C" not null,
  metadata text not null default '{}'::text,
  version bigint not null default nextval('versions'::regclass),
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  verified_at timestamp with time zone,
  deleted_at timestamp with time zone,
  xid xid8 not null default pg_current_xact_id(),
  constraint domains_pkey PRIMARY KEY (id),
  constraint domains_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX domain_family ON public.domains USING btree (substr(hostname, (strpos(hostname, '.'::text) + 1)), hostname);
CREATE INDEX domain_family_verified ON public.domains USING btree (substr(hostname, (strpos(hostname, '.'::text) + 1)), project_id) WHERE (verified_at IS NOT NULL);
CREATE INDEX domain_project_live ON public.domains USING btree (project_id, created_at, hostname) WHERE (deleted_at IS NULL);
CREATE INDEX domain_released ON public.domains USING btree (hostname, deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX domain_released_project ON public.domains USING btree (hostname, project_id, deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX domain_released_verified ON public.domains USING btree (hostname, project_id) WHERE ((deleted_at IS NOT NULL) AND (verified_at IS NOT NULL));
CREATE UNIQUE INDEX domain_hostname_live ON public.domains USING btree (hostname) WHERE (deleted_at IS NULL);
CREATE TRIGGER domain_family_room BEFORE INSERT ON public.domains FOR EACH ROW EXECUTE FUNCTION require_room_in_family();
CREATE TRIGGER domain_room_beside AFTER INSERT ON public.domains FOR EACH ROW EXECUTE FUNCTION require_room_beside();
CREATE TRIGGER domain_version_xid BEFORE UPDATE OF version ON public.domains FOR EACH ROW EXECUTE FUNCTION set_version_xid();

create table edges (
  id uuid not null,
  name text not null,
  address text,
  version text not null,
  started_at timestamp with time zone not null,
  heartbeat_at timestamp with time zone not null default now(),
  behind_ms bigint not null,
  epoch text not null,
  xid xid8 not null,
  seq bigint not null,
  routes bigint not null,
  certificates bigint not null,
  connections integer not null,
  load real not null,
  constraint edges_pkey PRIMARY KEY (id)
) with (fillfactor=50);

create table feed (
  one boolean not null default true,
  life uuid not null default gen_random_uuid(),
  pruned_xid xid8 not null default '0'::xid8,
  pruned_seq bigint not null default 0,
  constraint feed_pkey PRIMARY KEY (one),
  constraint feed_is_one_row CHECK (one)
);

create table feed_beats (
  system text not null,
  timeline integer not null,
  lsn pg_lsn not null,
  beat_at timestamp with time zone not null,
  constraint feed_beats_pkey PRIMARY KEY (system, timeline)
) with (fillfactor=50);

create table feed_marks (
  id bigint not null generated always as identity,
  mark text not null,
  constraint feed_marks_pkey PRIMARY KEY (id),
  constraint feed_marks_mark_key UNIQUE (mark)
);

create table issuance_blocks (
  directory text collate "C" not null,
  scope text not null,
  key text collate "C" not null,
  until timestamp with time zone not null,
  detail text not null,
  constraint issuance_blocks_pkey PRIMARY KEY (directory, scope, key),
  constraint issuance_block_scope CHECK ((scope = ANY (ARRAY['account'::text, 'domain'::text, 'names'::text, 'failures'::text])))
);

create table issuance_exceptions (
  directory text collate "C" not null,
  registered_domain text collate "C" not null,
  certificates integer not null,
  note text not null default ''::text,
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  constraint issuance_exceptions_pkey PRIMARY KEY (directory, registered_domain),
  constraint issuance_exception_positive CHECK ((certificates > 0))
);

create table issuance_orders (
  id bigint not null generated always as identity,
  directory text collate "C" not null,
  hostname text collate "C" not null,
  registered_domain text collate "C" not null,
  project_id bigint,
  renewal boolean not null,
  exempt boolean not null,
  outcome text not null default 'under-way'::text,
  counted_at timestamp with time zone not null,
  sent boolean not null default true,
  constraint issuance_orders_pkey PRIMARY KEY (id),
  constraint issuance_outcome CHECK ((outcome = ANY (ARRAY['under-way'::text, 'issued'::text, 'invalid'::text, 'refused'::text])))
);
CREATE INDEX issuance_order_account ON public.issuance_orders USING btree (directory, counted_at);
CREATE INDEX issuance_order_domain ON public.issuance_orders USING btree (directory, registered_domain, counted_at);
CREATE INDEX issuance_order_hostname ON public.issuance_orders USING btree (directory, hostname, counted_at);

create table kept_mails (
  id bigint not null generated always as identity,
  recipient text not null,
  subject text not null,
  body_text text not null,
  body_html text not null,
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  constraint kept_mails_pkey PRIMARY KEY (id)
);

create table members (
  project_id bigint not null,
  email text not null,
  role text not null,
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  joined_at timestamp with time zone,
  constraint members_pkey PRIMARY KEY (project_id, email),
  constraint member_role CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text]))),
  constraint members_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX member_email ON public.members USING btree (email);

create table migrations (
  name text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (name)
);

create table order_history (
  id bigint not null generated always as identity,
  hostname text collate "C" not null,
  began_at timestamp with time zone not null default now(),
  ended_at timestamp with time zone,
  outcome text not null default 'under-way'::text,
  renewing boolean not null,
  issuer text,
  serial text,
  not_after timestamp with time zone,
  problem json,
  sentence text,
  constraint order_history_pkey PRIMARY KEY (hostname, id),
  constraint order_history_hostname_fkey FOREIGN KEY (hostname) REFERENCES certificates(hostname) ON DELETE CASCADE,
  constraint order_outcome CHECK ((outcome = ANY (ARRAY['under-way'::text, 'issued'::text, 'failed'::text, 'abandoned'::text, 'imported'::text])))
);

create table orders_under_way (
  hostname text collate "C" not null,
  directory text collate "C" not null,
  project_id bigint,
  order_url text not null,
  sealed_key bytea not null,
  order_id bigint,
  expires_at timestamp with time zone not null,
  constraint orders_under_way_pkey PRIMARY KEY (hostname, directory)
);
CREATE INDEX order_under_way_expiry ON public.orders_under_way USING btree (expires_at);

create table probes (
  domain_id bigint not null,
  next_probe_at timestamp with time zone default now(),
  claimed_at timestamp with time zone not null default '-infinity'::timestamp with time zone,
  watched_until timestamp with time zone not null default '-infinity'::timestamp with time zone,
  checked_at timestamp with time zone,
  state text not null default 'unknown'::text,
  report json,
  failures integer not null default 0,
  proof_needed boolean,
  delegated boolean not null default false,
  live_at timestamp with time zone,
  live_tries integer not null default 0,
  live_sentence text,
  live_waits integer not null default 0,
  claimed_by text collate "C",
  begun_at timestamp with time zone,
  constraint probes_pkey PRIMARY KEY (domain_id),
  constraint probes_domain_id_fkey FOREIGN KEY (domain_id) REFERENCES domains(id)
) with (fillfactor=80);
CREATE INDEX probe_due ON public.probes USING btree (next_probe_at) WHERE (next_probe_at IS NOT NULL);
CREATE INDEX probe_due_answered ON public.probes USING btree (next_probe_at) WHERE (failures = 0);
CREATE INDEX probe_due_unanswered ON public.probes USING btree (next_probe_at) WHERE (failures > 0);

create table project_calls (
  project_id bigint not null,
  second bigint not null,
  calls integer not null,
  constraint project_calls_pkey PRIMARY KEY (project_id, second)
);

create table projects (
  id bigint not null generated always as identity,
  name text not null,
  slug text not null,
  upstream_url text not null,
  plan text not null,
  proof text not null,
  version bigint not null default nextval('versions'::regclass),
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  brand_color text,
  brand_logo_url text,
  deleted_at timestamp with time zone,
  upstream_protocol text not null default 'http1'::text,
  error_page text,
  cname_target text,
  constraint projects_pkey PRIMARY KEY (id),
  constraint project_error_page_size CHECK ((octet_length(error_page) <= 32768)),
  constraint project_slug_unique UNIQUE (slug),
  constraint project_upstream_protocol_fits CHECK (((upstream_protocol = 'http1'::text) OR ((upstream_protocol = 'h2'::text) AND (upstream_url ~~* 'https:%'::text)) OR ((upstream_protocol = 'h2c'::text) AND (upstream_url ~~* 'http:%'::text)))),
  constraint project_upstream_protocol_known CHECK ((upstream_protocol = ANY (ARRAY['http1'::text, 'h2'::text, 'h2c'::text])))
);
CREATE INDEX project_cname_target ON public.projects USING btree (cname_target COLLATE "C") WHERE ((cname_target IS NOT NULL) AND (deleted_at IS NULL));

create table rate_limits (
  key character varying(255) not null,
  points integer not null default 0,
  expire bigint,
  constraint rate_limits_pkey PRIMARY KEY (key)
);

create table session_projects (
  session_id bigint not null,
  project_id bigint not null,
  constraint session_projects_pkey PRIMARY KEY (session_id, project_id),
  constraint session_projects_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id),
  constraint session_projects_session_id_fkey FOREIGN KEY (session_id) REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE INDEX session_project ON public.session_projects USING btree (project_id);

create table sessions (
  id bigint not null generated always as identity,
  hash bytea not null,
  email text not null,
  signed_in_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  expires_at timestamp with time zone not null,
  constraint sessions_pkey PRIMARY KEY (id),
  constraint session_hash_unique UNIQUE (hash)
);
CREATE INDEX session_email ON public.sessions USING btree (email);
CREATE INDEX session_expiry ON public.sessions USING btree (expires_at);

create table settings (
  name text not null,
  value bytea not null,
  updated_at timestamp with time zone not null default now(),
  constraint settings_pkey PRIMARY KEY (name)
);

create table sign_in_links (
  id uuid not null default gen_random_uuid(),
  email text not null,
  expires_at timestamp with time zone not null,
  used_at timestamp with time zone,
  constraint sign_in_links_pkey PRIMARY KEY (id)
);
CREATE INDEX sign_in_link_expiry ON public.sign_in_links USING btree (expires_at);

create table tokens (
  id bigint not null generated always as identity,
  project_id bigint not null,
  name text not null,
  hash bytea not null,
  created_at timestamp with time zone not null default date_trunc('milliseconds'::text, now()),
  last_used_at timestamp with time zone,
  revoked_at timestamp with time zone,
  constraint tokens_pkey PRIMARY KEY (id),
  constraint token_hash_unique UNIQUE (hash),
  constraint tokens_project_id_fkey FOREIGN KEY (project_id) REFERENCES projects(id)
);
CREATE INDEX token_project ON public.tokens USING btree (project_id);
CREATE INDEX token_project_state ON public.tokens USING btree (project_id, revoked_at);

create table workers (
  id text collate "C" not null,
  host text not null,
  pid integer not null,
  started_at timestamp with time zone not null default now(),
  heartbeat_at timestamp with time zone not null default now(),
  steady_since timestamp with time zone not null default now(),
  constraint workers_pkey PRIMARY KEY (id)
);

CREATE OR REPLACE FUNCTION public.ask_for_certificate(wanted text)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
declare
  owner bigint := (select project_id from domains where hostname = wanted and deleted_at is null);
begin
  -- The worker looks again before it orders anything: back-off, limits and proofs are its business.
  if owner is not null or exists (select from certificates where hostname = wanted and project_id is null) then
    perform graphile_worker.add_job('issue', json_build_object('hostname', wanted), max_attempts => 3, job_key => 'issue:' || wanted,
      job_key_mode => 'preserve_run_at', flags => case when owner is not null then array['project:' || owner] end);
  end if;
end
$function$;

CREATE OR REPLACE FUNCTION public.ask_for_probe(wanted text)
 RETURNS void
 LANGUAGE sql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  -- At once, but not within ten seconds of the last check.
  update probes p set next_probe_at = greatest(now(), p.claimed_at + interval '10 seconds') from domains d
  where d.id = p.domain_id and d.hostname = wanted and d.deleted_at is null and d.verified_at is null
    and p.next_probe_at > greatest(now(), p.claimed_at + interval '10 seconds');
$function$;

CREATE OR REPLACE FUNCTION public.claim_counts(claim domains)
 RETURNS boolean
 LANGUAGE sql
 STABLE
AS $function$
  select claim.verified_at is not null or claim.created_at > now() - interval '1 day' and not exists (
    select from domains earlier where earlier.hostname = claim.hostname and earlier.verified_at is null
      and earlier.deleted_at > now() - interval '30 days')
$function$;

CREATE OR REPLACE FUNCTION public.claim_in_the_way(project bigint, wanted text)
 RETURNS text
 LANGUAGE plpgsql
 STABLE
AS $function$
declare
  found text;
begin
  if starts_with(wanted, '*.') then
    select other.hostname into found from domains other
    where substr(other.hostname, strpos(other.hostname, '.') + 1) = substr(wanted, 3) and not starts_with(other.hostname, '*.')
      and other.deleted_at is null and other.project_id <> project and claim_counts(other) limit 1;
  else
    select other.hostname into found from domains other
    where substr(other.hostname, strpos(other.hostname, '.') + 1) = substr(wanted, strpos(wanted, '.') + 1)
      and other.hostname = '*' || substr(wanted, strpos(wanted, '.'))
      and coalesce(other.deleted_at, 'infinity') = 'infinity' and other.project_id <> project and claim_counts(other);
  end if;
  return found;
end
$function$;

CREATE OR REPLACE FUNCTION public.edge_setting(wanted text)
 RETURNS bytea
 LANGUAGE sql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
  select value from settings where name = wanted and name in ('thumbprint', 'ticket-keys');
$function$;

CREATE OR REPLACE FUNCTION public.require_room_beside()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  found text := claim_in_the_way(new.project_id, new.hostname);
begin
  if found is not null then
    raise exception using errcode = 'exclusion_violation', constraint = 'domain_family_room', message = found;
  end if;
  return null;
end
$function$;

CREATE OR REPLACE FUNCTION public.require_room_in_family()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
declare
  family bigint := hashtextextended('family of ' || substr(new.hostname, strpos(new.hostname, '.') + 1), 0);
  found text;
begin
  if starts_with(new.hostname, '*.') then
    perform pg_advisory_xact_lock(family);
  else
    perform pg_advisory_xact_lock_shared(family);
  end if;
  found := claim_in_the_way(new.project_id, new.hostname);
  if found is not null and not exists (select from domains where hostname = new.hostname and deleted_at is null) then
    raise exception using errcode = 'exclusion_violation', constraint = 'domain_family_room', message = found;
  end if;
  new.version := nextval('versions');
  return new;
end
$function$;

CREATE OR REPLACE FUNCTION public.set_version_xid()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
begin
  new.xid := pg_current_xact_id();
  return new;
end
$function$;
