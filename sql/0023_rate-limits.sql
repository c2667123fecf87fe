-- As rate-limiter-flexible has it. Unlogged: a crash may forget who has asked how often.
create unlogged table rate_limits (
  key    varchar(255) primary key,
  points integer not null default 0,
  expire bigint -- milliseconds since 1970
);
