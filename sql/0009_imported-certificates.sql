-- A certificate that was brought stays for as long as it is valid: no order replaces it.
alter table certificates add column origin text not null default 'ordered'
  constraint certificate_origin check (origin in ('ordered', 'imported'));
