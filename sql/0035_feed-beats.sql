-- A worker touches the row of the server's timeline each second. Whoever reads a standby sees how far behind it is; after a promotion, the old
-- timeline's last row says up to where both timelines are the same for certain.
create table feed_beats (
  system   text not null,
  timeline integer not null,
  lsn      pg_lsn not null,
  beat_at  timestamptz not null,
  primary key (system, timeline)
) with (fillfactor = 50);
