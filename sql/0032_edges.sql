-- The machines with the role edge, each as it said last. `heartbeat_at` is by the database's clock, so that those of the machines do not matter.
-- (epoch, xid, seq) is the place in the change feed that the machine's copy and each of its edge processes have applied.
create table edges (
  id           uuid primary key,
  name         text not null,
  address      text, -- host:port at which workers reach its https; null: nobody visits it
  version      text not null,
  started_at   timestamptz not null,
  heartbeat_at timestamptz not null default now(),
  behind_ms    bigint not null,
  epoch        text not null,
  xid          xid8 not null,
  seq          bigint not null,
  routes       bigint not null,
  certificates bigint not null,
  connections  integer not null,
  load         real not null
) with (fillfactor = 50); -- every row is written anew each two seconds, in the room beside it
