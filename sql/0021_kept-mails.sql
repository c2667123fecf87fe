-- Where a local installation without a mail server keeps what it would have sent.
create table kept_mails (
  id         bigint generated always as identity primary key,
  recipient  text not null,
  subject    text not null,
  body_text  text not null,
  body_html  text not null,
  created_at timestamptz not null default date_trunc('milliseconds', now())
);
