-- Each second a worker leaves a mark that nobody could have guessed. A reader keeps the last one that it saw: a server on which that mark is
-- missing, and which was started since, was put back to an earlier state.
create table feed_marks (
  id   bigint generated always as identity primary key,
  mark text not null unique -- milliseconds since 1970, a colon, and a random part
);
