-- What authorities are about to look up (RFC 8555 §8): there before an authority is told to look, gone when it has.
create table challenges (
  type       text not null constraint challenge_type check (type in ('tls-alpn-01', 'dns-01')),
  key        text collate "C" not null, -- of tls-alpn-01 the hostname, of dns-01 the label below NAMESAKE_DNS_ZONE
  value      text not null, -- of tls-alpn-01 the key authorization, of dns-01 the text of the record
  expires_at timestamptz not null,
  primary key (type, key, value)
);

create index challenge_expiry on challenges (expires_at);

alter table changes drop constraint change_kind;
alter table changes add constraint change_kind check (kind in ('host', 'certificate', 'project', 'token', 'setting', 'challenge'));
