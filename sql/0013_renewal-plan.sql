-- Why a certificate is renewed when it is, and why not.
alter table certificates
  add column wished_from        timestamptz, -- renew_at is the directory's own wish, which begins then (RFC 9773); null: it is our own rule's
  add column explanation_url    text, -- the directory's page on why
  add column dns_left_at        timestamptz, -- since when attempts to renew find DNS leading elsewhere; null: the last one did not
  add column renewal_stopped_at timestamptz; -- not tried any more until DNS leads here or somebody asks

-- What was issued before the directory was kept is asked about as well, and so is what has a wish that began we do not know when.
update certificates set ari_due_at = now() where chain_pem is not null and origin = 'ordered';
update certificates set next_attempt_at = coalesce(renew_at, now()) where chain_pem is not null and next_attempt_at is null;
