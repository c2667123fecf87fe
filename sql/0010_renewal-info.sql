-- What an authority is asked for to learn when it wishes a certificate to be renewed (RFC 9773).
alter table certificates
  add column directory      text, -- of the authority that issued it, as in NAMESAKE_ACME_DIRECTORY; null: issued before this was kept
  add column ari_checked_at timestamptz, -- when the authority last answered
  add column ari_due_at     timestamptz; -- when to ask next

create index certificate_ari_due on certificates (ari_due_at) where ari_due_at is not null;
