-- How the pages for a vendor's customers look; and a project that is given up keeps its row, for what its hostnames leave behind.
alter table projects
  add column brand_color text,
  add column brand_logo_url text,
  add column deleted_at timestamptz;
