import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { unpackFormerRelease } from '../../test/support/former-release.ts'
import { readMigrations } from './migrations.ts'

// A release runs for a while beside the schema of the next one. So a migration only adds; what it takes away, it takes a release later, when
// nothing that runs knows it any more: such a statement stands behind the line `-- contract: since <version> nothing uses it`.

const CONTRACT = /^--\s*contract: since (\S+) nothing uses it\s*$/m

const TAKES_AWAY: [RegExp, string][] = [
  [/\bdrop\s+(table|column|view|type|schema|function|domain|sequence)\b/i, 'drops what the former release uses'],
  [/\balter\s+table\b[^;]*\bdrop\s+(?!constraint|not\s+null|default|expression)/i, 'drops a column'],
  [/\brename\b/i, 'renames what the former release knows by its old name'],
  [/\balter\s+(column\s+)?\w+\s+(set\s+data\s+)?type\b/i, 'changes the type of a column'],
  [/\bset\s+not\s+null\b/i, 'demands a value that the former release does not write'],
  [
    /\badd\s+(column\s+)?(if\s+not\s+exists\s+)?(?!constraint)\w+[^,;]*\bnot\s+null\b(?![^,;]*\b(default|generated)\b)/i,
    'adds a column that needs a value, without a default',
  ],
  [/\btruncate\b/i, 'empties a table'],
]

/** Why yesterday's release could not go on beside this migration; empty when it can. */
function contractions(sql: string, former: string): string[] {
  const since = CONTRACT.exec(sql)?.[1]
  if (since !== undefined && since.localeCompare(former, 'en', { numeric: true }) <= 0) return []
  const tables = new Set([...sql.matchAll(/\bcreate\s+table\s+(?:if\s+not\s+exists\s+)?(\w+)/gi)].map((match) => match[1]!))
  const statements = sql
    .replace(/--.*$/gm, '')
    .replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''") // bodies of functions
    .split(';')
    .map((statement) => statement.trim())
    // What this migration has made itself, nobody uses yet.
    .filter(
      (statement) => !tables.has(/^alter\s+table\s+(?:only\s+)?(\w+)/i.exec(statement)?.[1] ?? '') && !/^create\s+table/i.test(statement),
    )
  return statements.flatMap((statement) => {
    const why = TAKES_AWAY.find(([pattern]) => pattern.test(statement))?.[1]
    return why ? [`${why}: ${statement.slice(0, 80)}`] : []
  })
}

test('a migration that the former release has not seen only adds', async () => {
  const former = unpackFormerRelease()
  try {
    const news = (await readMigrations(new URL('../../sql/', import.meta.url))).filter(({ name }) => !former.migrations.includes(name))
    const found = news.flatMap(({ name, text }) => contractions(text, former.version).map((why) => `${name} ${why}`))
    expect(found).toEqual([])
  } finally {
    former.remove()
  }
})

test('what the former release has applied stays as it was', async () => {
  const former = unpackFormerRelease()
  try {
    const changed = former.migrations.filter((name) => {
      const today = readFileSync(new URL(`../../sql/${name}`, import.meta.url), 'utf8')
      return today !== readFileSync(`${former.folder}/sql/${name}`, 'utf8')
    })
    expect(changed).toEqual([])
  } finally {
    former.remove()
  }
})

test.each([
  ['alter table domains drop column status;', 1],
  ['alter table domains rename column status to state;', 1],
  ['alter table domains alter column id type bigint;', 1],
  ['alter table domains alter status set not null;', 1],
  ['alter table domains add column size int not null;', 1],
  ['drop table domains;', 1],
  ['-- contract: since 0.1.0 nothing uses it\ndrop table domains;', 0],
  ['-- contract: since 0.2.0 nothing uses it\ndrop table domains;', 1],
  ['alter table domains add column size int not null default 0;', 0],
  ['alter table domains add column size int, add column note text;', 0],
  ['alter table domains drop constraint domains_check, add constraint domains_check check (true);', 0],
  ['create table edges (id uuid primary key, name text not null); alter table edges alter name set not null;', 0],
  ['create index on domains (status); -- rename', 0],
])('%s is recognized', (sql, count) => {
  expect(contractions(sql, '0.1.0')).toHaveLength(count)
})
